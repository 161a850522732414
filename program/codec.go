package program

// A side is the end of a conversation that sent a packet: in most dialects,
// the same bytes have another meaning, or none, when the other side sends
// them.
type side uint8

// The two sides. The zero side is unset. The values are those of the dialects' own Sides.
const (
	sideClient side = iota + 1
	sideServer
)

var sideNames = []string{sideClient: "client", sideServer: "server"}

// String gives the side as --from spells it.
func (s side) String() string {
	if s == sideClient || s == sideServer {
		return sideNames[s]
	}
	return "unset"
}

// A codec is what a dialect gives to decode and encode. Decode and Encode
// are pure: the same arguments give the same answer, and nothing is kept.
type codec struct {
	// Name is the dialect, as --dialect spells it.
	Name string

	// Channels are the values that --channel may have, the default first. It is
	// empty for a dialect with only one channel, and Decode and Encode are then
	// given "".
	Channels []string

	// Decode reads one packet and returns a value that marshals to the
	// dialect's JSON, or an error whose text names the field and its offset,
	// as a *wire.Error does. It must take all of b, and must not keep it.
	Decode func(from side, channel string, b []byte) (any, error)

	// Encode takes one JSON object, as Decode's value marshals to it, and
	// returns the packet's bytes, or an error whose text names the field. The
	// caller has checked that line is one whole JSON object.
	Encode func(from side, channel string, line []byte) ([]byte, error)
}

// builtIn lists the dialects of this build, in the order that help shows
// them. It is a list and not a registry, so that what a build can do is read
// in one place and no package changes another by being imported.
func builtIn() []codec {
	return []codec{
		replicaCodec,
		stampCodec,
		realmCodec,
		relayCodec,
		duplexCodec,
	}
}

// codecNames gives the names of codecs for a sentence.
func codecNames(codecs []codec) string {
	if len(codecs) == 0 {
		return "none yet"
	}
	var names []string
	for _, c := range codecs {
		names = append(names, c.Name)
	}
	return sentenceList(names, "and")
}

func dialectsSentence(codecs []codec) string {
	return "Dialects built in: " + codecNames(codecs) + "."
}
