package web

// Cluster is a cluster at about one moment.
type Cluster struct {
	Cluster string        `json:"cluster" doc:"its name"`
	Nodes   []ClusterNode `json:"nodes" doc:"the nodes that live"`
	Rooms   []ClusterRoom `json:"rooms" doc:"by name"`
}

// ClusterNode is a node of a cluster.
type ClusterNode struct {
	Node        string            `json:"node" doc:"its ID, which is another after each start"`
	Name        string            `json:"name" doc:"its name, for people: --node"`
	Here        bool              `json:"here" doc:"whether it is the server that was asked"`
	Version     string            `json:"version" doc:"the version of its program"`
	Fingerprint string            `json:"fingerprint" doc:"the fingerprint of its game's schema; it runs only rooms that have the same"`
	Addresses   map[string]string `json:"addresses" doc:"where players reach it: host:port by dialect, and by the carriers ws and wt"`
	Players     int               `json:"players" doc:"the players who are connected to it"`
	Rooms       int               `json:"rooms" doc:"the rooms that it runs"`
	CPU         float64           `json:"cpu" doc:"the share of its machine's processors that it uses, 0 to 1"`
	Draining    bool              `json:"draining" doc:"whether it takes no new players and no rooms"`
	Silent      bool              `json:"silent" doc:"whether it has not answered in time, so that its stages are missing"`
	Waits       string            `json:"waits,omitempty" doc:"why it runs no rooms yet; left out if it does"`
}

// ClusterRoom is a room of a cluster.
type ClusterRoom struct {
	Room      string         `json:"room" doc:"its name"`
	Sequencer string         `json:"sequencer,omitempty" doc:"the ID of the node that makes its entries; left out if none does"`
	Epoch     uint64         `json:"epoch" doc:"how often another node has begun to make them"`
	Tick      uint64         `json:"tick" doc:"the newest tick that a node has run"`
	Awake     bool           `json:"awake" doc:"whether it should have ticks: a room without players sleeps"`
	Stages    []ClusterStage `json:"stages" doc:"the nodes that run it"`
}

// ClusterStage is a node's part in a room.
type ClusterStage struct {
	Node      string  `json:"node" doc:"the node's ID"`
	Stuck     bool    `json:"stuck" doc:"whether the room there has not answered in time, so that the rest is not known"`
	Tick      uint64  `json:"tick" doc:"how many ticks it has run"`
	Lag       uint64  `json:"lag" doc:"how many entries it is behind the newest"`
	LagMS     float64 `json:"lag_ms" doc:"the same in milliseconds"`
	Behind    int     `json:"behind" doc:"entries that it has and has not run"`
	Hash      string  `json:"hash" doc:"the hash of the room's state after that tick"`
	Differs   bool    `json:"differs" doc:"whether the hash is not that of the sequencer at the same tick"`
	Refused   uint64  `json:"refused" doc:"entries of its own that came too late, as another node had made one"`
	Elections uint64  `json:"elections" doc:"how often it has begun to make the entries"`
	Diverged  uint64  `json:"diverged" doc:"how often its state was not that of the log, and was loaded anew"`
}

// DrainNode says which node is to be drained.
type DrainNode struct {
	Node string `json:"node,omitempty" doc:"its name or ID; the server that is asked if it is left out"`
}

// MoveRoom says which node is to make the entries of a room.
type MoveRoom struct {
	Room string `json:"room" api:"required" doc:"the room"`
	Node string `json:"node" api:"required" doc:"the name or ID of a node that runs the room"`
}
