package world

// The limits of a schema. Some come from the dialect with the least room, so that a game
// within them can be sent over all five.
const (
	// maxKinds and maxActions: a kind is a u8 in the records of stamp and duplex.
	maxKinds   = 255
	maxActions = 1 << 16

	// maxFields bounds a kind's replicated fields: what changed is a mask of 64
	// bits in each view and each packet on its way.
	maxFields = 64

	// maxHidden bounds what a kind keeps to itself. Each costs a load and a
	// multiplication an entity a tick.
	maxHidden = 192

	// maxFieldName bounds the way to a value in nested structs: a name in replica's link table has a size of one byte.
	maxFieldName = 255

	// maxRecordBytes is stamp's: "a kind whose record could exceed 255 bytes is
	// refused at registration".
	maxRecordBytes = 255

	// defaultTextBytes and maxTextBytes bound a string field; the tag max= sets
	// another bound. A string is u8 size and bytes in a record.
	defaultTextBytes = 32
	maxTextBytes     = 250

	// MaxParams is the greatest number of fields of an action. Every queued action has room for
	// that many, which takes 256 bytes.
	MaxParams = 8

	// defaultRows and maxRows bound the entities of a kind; the tag cap= sets
	// another bound. Tables grow by pages that stay where they are, so that a
	// pointer into one stays good while its entity lives.
	defaultRows = 4096
	maxRows     = 1 << 15

	// leastStep and greatestStep bound the tags q= and norm=: within them the steps of every range that an
	// integer holds are apart as floats.
	leastStep    = 1.0 / (1 << 30)
	greatestStep = 1 << 30

	// maxPlaceStep bounds the q= of a Body, so that each cell has a place on the grid: realm's clients are told
	// whole cells and claim them.
	maxPlaceStep = 1

	// maxTurns is how many directions of a body's angle an i16 tells apart.
	maxTurns = 1 << 16
)

// The limits of a world.
const (
	// MaxEntity is the greatest entity number that a client is told. Realm reserves 64,536 and up
	// for its clients, and duplex has 15 bits.
	MaxEntity = 32767

	// keptNumbers is how many numbers Reserve leaves: when players who come and go
	// have used up the others, what the players present do is still seen.
	keptNumbers = 2048

	// firstNumbers is how many numbers are given once before one is used again. The book of a small room has no more.
	firstNumbers = 256

	// untoldRest is how long a number rests that no client was told, in ticks: long
	// enough for all who reserve and release numbers to know that it is free.
	untoldRest = 20

	// TempEntity is the first of the temporary numbers that realm's clients give to entities that
	// their actions create.
	TempEntity = 64536

	// MaxPlayers bounds the players of one world, and so the inputs of a tick.
	MaxPlayers = 4096

	// maxPlayerInputs bounds what one player may ask in one tick: without it a
	// client could make every replay of that tick as long as it likes.
	maxPlayerInputs = 32

	// maxTickInputs bounds those of all players in one tick, joins and leaves
	// aside: an input is 128 bytes, an action 384, and history holds 23 ticks of
	// them.
	maxTickInputs = 1 << 14

	// maxBirths is how many entities one input may create.
	maxBirths = 1<<11 - 1

	// MaxAhead is how many ticks an input's tick may be ahead of the world's.
	MaxAhead = 2

	// maxRollback bounds Config.MaxRollbackTicks, as each tick of it is a copy
	// of the world.
	maxRollback = 1024

	// maxShown bounds Config.MaxShownTicks, as each tick of it is a copy of the world.
	maxShown = 256

	// maxSpeed bounds how far a body moves in a tick, and so the cells that are
	// looked at on its way. A game that sets a greater norm moves it that far.
	maxSpeed = 256

	// moveGrace: "a position is taken if the entity could have got there since
	// its last accepted one (2 cells of grace)" (realm).
	moveGrace = 2

	// payback is the part of its greatest speed by which a body pays back the grace while it moves at that speed. A client that keeps whole
	// cells is told the corner of its cell when it is corrected, and rounding then uses up most of the grace: without payback it never had
	// it back, and was corrected again. Who claims too much all the time is faster by this part.
	payback = 1. / 64

	// maxFarClaims is how many places that are more than moveGrace away a player may claim in a
	// tick: the way to each is looked at, up to a second's walk. Honest clients claim one.
	maxFarClaims = 2

	// maxHitbox bounds the half-size of a hitbox: all cells under it are looked
	// at wherever it goes.
	maxHitbox = 64

	// maxEditedChunks bounds the terrain that a game may change: an edited chunk
	// is kept (74 KiB at most, and as much again for each tick of history that changed
	// it), while others are made again from the seed.
	maxEditedChunks = 4096

	// maxNameBytes bounds a player's name.
	maxNameBytes = 128
)

// The limits of a Guess. What a server tells is as little to be trusted as what a client does.
const (
	// leastGuessed is how many ticks a Guess can go back at least: three seconds at 20 a second.
	leastGuessed = 64

	// maxGuessBytes bounds what the entities take that a server tells of, all copies of history together.
	maxGuessBytes = 64 << 20

	// maxGuessedChunks bounds the chunks of terrain that follow from the seed and that one Run makes, at a millisecond or so each: a server
	// may tell of thousands of bodies, each in a chunk of its own. It is more than anybody sees.
	maxGuessedChunks = 128

	// maxToldChunks and maxToldLines bound the terrain that a server tells: a line has some 300 bytes.
	maxToldChunks = 1024
	maxToldLines  = 1 << 16
)

// The limits of a log.
const (
	// fullEntry is from when on an entry takes no more requests: a cluster's messages have at most 1 MiB. Leaves, and what is
	// noted of sessions, are taken all the same: less than 100 bytes for each of MaxPlayers.
	fullEntry = 512 << 10

	// maxWordFull is how much of a kick's or an operator's text a full entry still takes, as it takes these in any case.
	maxWordFull = 64

	// maxEntry bounds what is taken for an entry: an item is two bytes in a file and hundreds in memory.
	maxEntry = 2 << 20

	// maxBlock bounds what a damaged size makes a reader take.
	maxBlock = 256 << 20

	// maxTail bounds what a machine that lost power leaves behind the last sound block: the entries of some seconds. What is more
	// is damage.
	maxTail = 16 << 20

	// maxTailWork bounds the bytes that are summed in the search for a sound block behind one that is not: a forged file can have
	// a size at every byte. It takes a second or so, and what is not found by then is damage.
	maxTailWork = 16 * maxTail

	// maxWordBytes bounds a line of chat, of the operator or a reason. It is more than a gateway takes.
	maxWordBytes = 4096

	// maxNodes bounds the servers whose requests an entry has, and whose newest request is remembered. When there are more, the one
	// that has been silent longest is forgotten: each start of a server is another.
	maxNodes = 256

	// MaxResult bounds the result of World.End, in bytes. Each state of history and each snapshot has it.
	MaxResult = 1024

	// maxLabelBytes bounds Game.Version and Config.Mode. Mode is told to clients with a size of one byte.
	maxLabelBytes = 255

	// ticketSweep is how often spent tickets are looked through for those that have expired, in seconds of the entries' own times.
	ticketSweep = 60
)

// The limits of a view.
const (
	// maxPackets is how many packets of a view may be on their way. The oldest
	// beyond it counts as lost, so that a client that falls silent costs no more.
	maxPackets = 256

	// maxSent is how many entities those packets may tell of in all.
	maxSent = 8192

	// minPackets is room for the packets of most of a second, and as many entities:
	// a view that is told of little has no more.
	minPackets = 16
)
