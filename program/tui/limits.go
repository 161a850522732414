package tui

const (
	// maxLines bounds the lines that are kept: a server that talks all day fills no memory.
	maxLines = 100

	// maxLineBytes bounds a line, which is cut before it is made plain.
	maxLineBytes = 1024

	// maxNameWidth is how many columns of a name are shown beside its body.
	maxNameWidth = 16

	// maxTyped is how long a line may be that is typed, in bytes: servers take no longer ones.
	maxTyped = 512

	// maxBoards is how many entities without a body are shown, such as the score of a match.
	maxBoards = 4

	// maxTold is how many hits of others are told one by one in a frame. In a crowd they are told as a number.
	maxTold = 2

	// maxSide bounds the columns and rows that are drawn.
	maxSide = 1000
)
