package web

// A family is one metric: its name, its meaning, and the counters of the Stats that it is made of. This table is the only place
// that names metrics. /metrics and the table of docs/metrics.md are made from it. Tests compare the page and the Stats with it.
type family struct {
	name   string
	kind   kind
	labels string // their names, separated by spaces
	help   string // what it means, and what to do when it grows
	from   []from
}

// kind is what Prometheus calls the type of a metric.
type kind string

const (
	counter   kind = "counter"
	gauge     kind = "gauge"
	histogram kind = "histogram"
)

// from is the source of a series. The path leads from the Stats struct to a number. Several paths with " - " between mean the
// first number without the others, which are part of it. An element * is any dialect, whose name is the label dialect. The
// values of the other labels are separated by spaces. Rows of tables have labels of their own.
type from struct{ path, values string }

var families = []family{
	// The world and its players.
	{"parley_players", gauge, "", "Players in the game now. At --max-players, new players are told that the game is full.", []from{{"World.Players", ""}}},
	{"parley_spectators", gauge, "", "Spectators in the game now. They cost bandwidth as players do.", []from{{"World.Spectators", ""}}},
	{"parley_seats", gauge, "dialect", "Players and spectators in the game now, by dialect.", []from{{"World.Seats.*", ""}}},
	{"parley_rooms", gauge, "state", "Rooms now. asleep: nobody is there, so the room has no ticks and costs memory only. At --max-rooms no more rooms can be opened. If asleep grows, give rooms a shorter idle time.", []from{
		{"World.AwakeRooms", "awake"}, {"World.Rooms - World.AwakeRooms", "asleep"},
	}},
	{"parley_entries_refused_total", counter, "reason", "Players who were refused. behind: the game was behind the clock; add CPU or lower --max-players. crowded: one address holds or takes too many seats; see --per-address. banned: the address was banned while the player came in. numberless: the game has too many entities. The reasons with ticket: check the program that issues tickets; many bad_ticket and used_ticket can be an attack. other_room: the room is not there; a ticket may be for another server. no_session: the player was away for longer than --hold, or the server was restarted without --keep. unwritten: the data folder cannot be written; check the disk.", []from{
		{"World.Shed", "behind"}, {"World.Crowded", "crowded"}, {"World.Banned", "banned"}, {"World.Numberless", "numberless"},
		{"World.Gate.None", "no_ticket"}, {"World.Gate.Bad", "bad_ticket"}, {"World.Gate.Unlooked", "bad_ticket_unanswered"}, {"World.Gate.Expired", "expired_ticket"},
		{"World.Gate.OtherRoom", "other_room"}, {"World.Gate.NoSession", "no_session"}, {"World.Gate.Used", "used_ticket"}, {"World.Gate.Unkept", "unwritten"},
	}},
	{"parley_tickets_accepted_total", counter, "", "Valid tickets. It grows with every player who joins with one.", []from{{"World.Gate.Tickets", ""}}},
	{"parley_room_wishes_total", counter, "", "Guests who asked for a room by its name. If parley_entries_refused_total{reason=\"other_room\"} grows too, they ask for rooms that are not there.", []from{{"World.Gate.Rooms", ""}}},
	{"parley_match_waiting", gauge, "", "Players who wait for a match now. If it stays high while nobody is matched, they ask for different modes or numbers of players, or the server has seven eighths of --max-rooms rooms.", []from{{"Matches.Waiting", ""}}},
	{"parley_match_wishes_total", counter, "fate", "Players who asked for a match. expired: too few others wanted the same within 30 seconds. left: hung up. failed: no room could be opened; the log has the reason. refused: too many waited, of all addresses or of one; many of these can be an attack.", []from{
		{"Matches.Matched", "matched"}, {"Matches.Expired", "expired"}, {"Matches.Left", "left"}, {"Matches.Failed", "failed"}, {"Matches.Refused", "refused"},
	}},

	// Time.
	{"parley_tick_seconds", histogram, "", "Duration of ticks, from the start of a tick until the packets of all players are encoded. When it comes near the period of a tick, the game falls behind: profile Step, lower --sight or --max-players, or add CPU.", []from{{"World.TickSeconds", ""}}},
	{"parley_tick_longest_seconds", gauge, "", "The longest tick so far. A single long tick is often caused by the machine: compare it with parley_tick_seconds.", []from{{"World.LongestTick", ""}}},
	{"parley_ticks_total", counter, "fate", "Ticks. late: started more than half a period late; other programs on the machine take its CPU, or ticks are too long. skipped: left out because the game was more than five seconds behind the clock.", []from{
		{"World.Ticks - World.LateTicks", "on_time"}, {"World.LateTicks", "late"}, {"World.SkippedTicks", "skipped"},
	}},
	{"parley_behind_seconds", gauge, "", "How far the game is behind the clock. Above one second nobody can join. If it does not return to 0, add CPU or lower --tick-rate.", []from{{"World.Behind", ""}}},
	{"parley_input_seconds", histogram, "", "Time from the arrival of a player's input until the tick that takes it is encoded for all players. Half a period and one tick is normal. If it grows and parley_tick_seconds does not, the machine is busy with other work.", []from{{"World.InputSeconds", ""}}},
	{"parley_round_trip_seconds", histogram, "dialect", "Round-trip times to players, measured by acknowledgements of reliable packets. They include the client's delay of up to a tick. If they grow, check the network. If parley_packets_total{fate=\"resent\"} grows too, the network loses packets.", []from{{"*.RoundTrips", ""}}},

	// Slow paths.
	{"parley_narrow_players", gauge, "dialect", "Players and spectators whose path takes less than the world has to say: each tick sends them what matters most, as far as the path takes it. If many are narrow at once, look at the server's own network.", []from{{"World.Paths.*.Narrow", ""}}},
	{"parley_narrow_estimate_bytes_per_second", gauge, "dialect", "What the narrow paths are thought to take, together. Divide by parley_narrow_players for the mean.", []from{{"World.Paths.*.Estimate", ""}}},
	{"parley_narrow_budget_bytes", gauge, "dialect", "What the last tick could send over the narrow paths, together. It is 0 now and then, while a queue empties.", []from{{"World.Paths.*.Budget", ""}}},
	{"parley_narrow_queue_seconds", gauge, "dialect", "How long packets wait on the narrow paths, the sum of all. Divided by parley_narrow_players it stays below 0.06, unless somebody else fills the same links.", []from{{"World.Paths.*.Queue", ""}}},

	// What players ask for.
	{"parley_requests_total", counter, "", "Requests of players that the game took: inputs, lines of chat, chunks, joins. It grows with the number of players. If it grows faster, one of them sends more than others.", []from{{"World.Requests", ""}}},
	{"parley_requests_dropped_total", counter, "reason", "Requests that the game did not take. flood: a connection sent more than 64 between two ticks; it is a broken or hostile client. early: sent before the connection entered or after it left; a few are normal. unread: messages without a meaning in the game; the client is of another game or version.", []from{
		{"World.DroppedInput", "flood"}, {"World.EarlyInput", "early"}, {"World.UnreadInput", "unread"},
	}},
	{"parley_inputs_total", counter, "fate", "Inputs that the game has judged. If refused grows, parley_inputs_refused_total has the reasons.", []from{
		{"World.World.InputsDone", "done"}, {"World.World.InputsRefused", "refused"},
	}},
	{"parley_inputs_refused_total", counter, "reason", "Refused inputs, by reason. An input whose outcome changes in a replay counts again. too_old and too_early: clocks of clients, or slow networks. too_fast, unreachable and not_yours: a client that cheats, or one of another version.", []from{{"World.World.Refused", ""}}},
	{"parley_inputs_pending", gauge, "", "Inputs that have not run yet, or whose outcome is not final. If it grows, clients send inputs for ticks far ahead.", []from{{"World.World.InputsPending", ""}}},
	{"parley_inputs_held_total", counter, "fate", "Inputs of realm that came while the game was behind the clock. waited: done at their tick. hastened: done before their tick, because they had waited too long. If it grows, look at parley_behind_seconds.", []from{
		{"World.HeldInput - World.HastenedInput", "waited"}, {"World.HastenedInput", "hastened"},
	}},
	{"parley_inputs_stamped_total", counter, "", "Inputs with a stamp: of clients that predict, and say for which tick an input is meant.", []from{{"World.StampedInput", ""}}},
	{"parley_inputs_stamped_faults_total", counter, "fault", "Inputs with a stamp that were not done as it says. repeated: the number had come before, as clients send an input again to be sure; it is done once. late: done after their tick; a slow network, or a client that does not lead enough. far: for a tick more than 8 ahead; a client with a wrong clock. pushed: done before their tick because 32 of the player waited. overtaken: steers that came after a later steer was done, and were not done; a network that loses or reorders packets. shown: the tick that was on the screen is not believed; a slow network, or a client that cheats.", []from{
		{"World.RepeatedInput", "repeated"}, {"World.LateInput", "late"}, {"World.FarInput", "far"}, {"World.PushedInput", "pushed"}, {"World.Overtaken", "overtaken"}, {"World.DoubtedShown", "shown"},
	}},
	{"parley_members_lost_total", counter, "", "Players who left while a client had not read of 1,024 others who had left before, so that it was not told of some. Somebody joins and leaves all the time, or a client has stopped reading.", []from{{"World.LostMembers", ""}}},
	{"parley_chat_lines_total", counter, "fate", "Lines of chat. dropped: beyond five a second, too long, or not valid text. If dropped grows, somebody floods the chat: kick that player.", []from{{"World.Chat", "said"}, {"World.DroppedChat", "dropped"}}},
	{"parley_chunks_total", counter, "fate", "Chunks of terrain. made: generated for the first time. delayed: times that a player waited because it was the turn of others; if it grows, many players join or travel at once. refused: requested by a player who was waiting for 64 already; a broken client.", []from{
		{"World.MadeChunks", "made"}, {"World.DelayedChunks", "delayed"}, {"World.RefusedChunks", "refused"},
	}},
	{"parley_event_consumers_slow_total", counter, "", "Consumers of Server.Events that were cut off (ErrSlow), because 16,384 events waited for them. A part of the game that follows rooms is too slow. A kept room has the events still; of another they are lost.", []from{{"World.SlowConsumers", ""}}},
	{"parley_messages_unsent_total", counter, "", "Messages that a player's connection had no room for. If it grows, players have slow networks, or clients that have stopped reading.", []from{{"World.UnsentOutput", ""}}},

	// Rooms on disk.
	{"parley_keep_entries_total", counter, "fate", "Ticks of kept rooms. dropped: the disk could not take them, and a later snapshot stands for them; see the log.", []from{
		{"Keep.Written", "written"}, {"Keep.Dropped", "dropped"},
	}},
	{"parley_keep_pending", gauge, "", "Ticks that wait for the disk now. If it grows, the disk is too slow.", []from{{"Keep.Pending", ""}}},
	{"parley_keep_bytes_total", counter, "file", "Bytes that were written of logs and snapshots.", []from{{"Keep.Bytes", "log"}, {"Keep.SnapshotBytes", "snapshot"}}},
	{"parley_keep_files_total", counter, "file", "Files that were begun. log: segments of logs. snapshot: snapshots that were read back and are sound.", []from{{"Keep.Segments", "log"}, {"Keep.Snapshots", "snapshot"}}},
	{"parley_keep_groups_total", counter, "", "Turns of the writer of all rooms. Divide parley_keep_entries_total by it for the ticks of a group.", []from{{"Keep.Groups", ""}}},
	{"parley_keep_syncs_total", counter, "", "Syncs of logs. With --keep second it grows by one a second for each room with players, with --keep tick by one a tick.", []from{{"Keep.Syncs", ""}}},
	{"parley_keep_faults_total", counter, "operation", "Failures of the disk. The log of the server has the error. Mend or empty the disk; rooms are written again by themselves.", []from{
		{"Keep.WriteFaults", "write"}, {"Keep.SyncFaults", "sync"}, {"Keep.SnapshotFaults", "snapshot"}, {"Keep.RemoveFaults", "remove"},
	}},
	{"parley_keep_rooms", gauge, "state", "Rooms that are kept now. trouble: what happens in them is not on disk; with --keep tick they stand still.", []from{
		{"Keep.Rooms - Keep.InTrouble", "well"}, {"Keep.InTrouble", "trouble"},
	}},

	// The cluster.
	{"parley_cluster_nodes", gauge, "", "Nodes of the cluster that live, as this one knows them. Alert when it is less than there should be: with half of them gone rooms stand still.", []from{{"Cluster.Nodes", ""}}},
	{"parley_cluster_rooms", gauge, "part", "Rooms that this node runs. sequencer: it makes their entries. stage: another node does.", []from{
		{"Cluster.Sequences", "sequencer"}, {"Cluster.Rooms - Cluster.Sequences", "stage"},
	}},
	{"parley_cluster_behind_entries", gauge, "", "Entries that this node has and has not run, in the room with the most. If it stays above a few, the node is too slow: add CPU, or drain it.", []from{{"Cluster.Behind", ""}}},
	{"parley_cluster_silence_seconds", gauge, "", "Time since the last entry, in the room with the longest that should have some. An election takes 3 to 6. If it goes on, the room stands still: too few nodes reach each other.", []from{{"Cluster.Silence", ""}}},
	{"parley_cluster_entries_total", counter, "fate", "Entries of rooms' logs. made: of this node. run: of others. ahead: of this node, and run before the log had them. undone: those that were lost so, and players connected again. void: of a sequencer that another has followed. fetched: not heard, and read from the log. dropped: not kept behind a gap, and read later. malformed: not readable; another version, or a fault. If fetched grows as fast as run, the network between nodes loses messages.", []from{
		{"Cluster.Made", "made"}, {"Cluster.Ran", "run"}, {"Cluster.Ahead", "ahead"}, {"Cluster.Undone", "undone"}, {"Cluster.Void", "void"}, {"Cluster.Fetched", "fetched"}, {"Cluster.Dropped", "dropped"}, {"Cluster.Malformed", "malformed"},
	}},
	{"parley_cluster_elections_total", counter, "fate", "How rooms came to another sequencer. won and lost: bids of this node for rooms without entries. taken and given: from and to another node, by a move or a drain. deposed: another node has followed this one, which did not know. won without a restart: a node died, stood still or was cut off.", []from{
		{"Cluster.Elections", "won"}, {"Cluster.LostBids", "lost"}, {"Cluster.Taken", "taken"}, {"Cluster.Given", "given"}, {"Cluster.Deposed", "deposed"},
	}},
	{"parley_cluster_appends_total", counter, "fate", "Entries of this node that did not go into the log at once. refused: another came first. repeated: the store did not answer, and was offered them again. If repeated grows, the disks or the network of the store are slow.", []from{
		{"Cluster.Refused", "refused"}, {"Cluster.Repeated", "repeated"},
	}},
	{"parley_cluster_requests_repeated_total", counter, "", "How often what players of this node asked for was sent to sequencers again, as the log did not have it within 200 ms. If it grows, the network between nodes is slow, or a sequencer is.", []from{{"Cluster.Reasked", ""}}},
	{"parley_cluster_skipped_ticks_total", counter, "", "Ticks that passed without an entry, because nobody could make one.", []from{{"Cluster.SkippedFor", ""}}},
	{"parley_cluster_desyncs_total", counter, "part", "Rooms whose state was not the same on two nodes. here: this node's was not that of the log. complaint: another node's, and this one has saved its state for it. stopped: stages that were ended here, after the third in a minute or for another schema. Any is a fault: the game is not deterministic, or nodes have different builds. Both states are in the folder desync of --data.", []from{
		{"Cluster.Diverged", "here"}, {"Cluster.Complaints", "complaint"}, {"Cluster.Stopped", "stopped"},
	}},
	{"parley_cluster_snapshots_total", counter, "fate", "Snapshots of rooms in the store. saved: by this node, each 30 s and when a room moves. loaded: when a stage began, or was too far behind.", []from{{"Cluster.Saved", "saved"}, {"Cluster.Loaded", "loaded"}}},
	{"parley_cluster_store_faults_total", counter, "fault", "Troubles of the store. unanswered: calls that were not answered in time; most are tried again. out_of_order: this node's own NATS stores nothing; look at the disk of --data.", []from{
		{"Cluster.Unanswered", "unanswered"}, {"Cluster.StoreTrouble", "out_of_order"},
	}},

	// The simulation.
	{"parley_world_bytes_total", counter, "dialect kind field", "Bytes of entity fields that were sent to players, by kind and field, without headers. Make the largest series smaller: a shorter type, fewer changes, a shorter sight.", []from{{"Fields.*", ""}}},
	{"parley_world_rewinds_total", counter, "", "Times that the world went back for a late input. If it grows, players have slow networks.", []from{{"World.World.Rewinds", ""}}},
	{"parley_world_replayed_ticks_total", counter, "", "Ticks that were run again after the world went back. If it grows faster than parley_ticks_total, replays cost more than the game: lower MaxRollbackTicks.", []from{{"World.World.TicksReplayed", ""}}},
	{"parley_world_faults_total", counter, "fault", "Faults of the game's code. not_finite: floats that it left NaN or infinite, and that were set to 0. spawn_refused: a kind had reached its largest number of entities. unnumbered: entities that waited for a free number. done_now: late inputs that were not replayed, because their player had used its share of replays.", []from{
		{"World.World.NotFinite", "not_finite"}, {"World.World.SpawnsRefused", "spawn_refused"}, {"World.World.Unnumbered", "unnumbered"}, {"World.World.LateDoneNow", "done_now"},
	}},

	// Connections.
	{"parley_connections", gauge, "dialect state", "Connections now. entered and waiting (not in the game yet) are told apart by realm only; the other dialects have open. If waiting stays high, somebody holds connections without logging in.", []from{
		{"*.Conns", "open"}, {"Connector.Peers", "open"}, {"Realm.Mux.Players", "entered"}, {"Realm.Mux.Waiting", "waiting"},
	}},
	{"parley_connections_total", counter, "dialect fate", "Connections by their fate. opened and ended are normal. crowded, hasty, late and gave_way: refused or closed to make room for others; if they grow, somebody floods the port. bad_handshake: TLS failed. bad_proxy_header: a connection from --behind-proxy had no PROXY header; set the proxy up to send one. bad_pass: the pass of a client was refused; a client of another version, or an attack. refused: the client was told that it may not enter. accept_failed: the process has no descriptors left; raise its limit. probed: an account logged in again while its connection was there. replaced: that connection did not answer, and was closed.", []from{
		{"*.Mux.Opened", "opened"}, {"*.Mux.Ended", "ended"}, {"*.Mux.Late", "late"}, {"*.Mux.GaveWay", "gave_way"}, {"Relay.Mux.Admitted", "opened"}, {"Relay.Mux.Gone", "ended"}, {"Connector.Mux.Admitted", "opened"}, {"Connector.Mux.Gone", "ended"},
		{"Duplex.Mux.Accepted", "opened"}, {"Duplex.Mux.Refused", "refused"}, {"Duplex.Mux.Hasty", "hasty"}, {"Duplex.Mux.Crowded", "crowded"}, {"Duplex.Mux.BadPass", "bad_pass"},
		{"Duplex.Streams.Accepted", "accepted"}, {"Duplex.Streams.BadShake", "bad_handshake"}, {"Duplex.Streams.Hasty", "hasty_handshake"}, {"Duplex.Streams.Crowded", "crowded_handshake"}, {"Duplex.Streams.BadHeader", "bad_proxy_header"}, {"Duplex.Streams.AcceptErrs", "accept_failed"},
		{"Realm.Mux.Accepted", "opened"}, {"Realm.Mux.Entered", "entered"}, {"Realm.Mux.Crowded", "crowded"}, {"Realm.Mux.Probed", "probed"}, {"Realm.Mux.Replaced", "replaced"},
		{"Realm.Streams.Accepted", "accepted"}, {"Realm.Streams.BadShake", "bad_handshake"}, {"Realm.Streams.Hasty", "hasty_handshake"}, {"Realm.Streams.Crowded", "crowded_handshake"}, {"Realm.Streams.BadHeader", "bad_proxy_header"}, {"Realm.Streams.AcceptErrs", "accept_failed"},
	}},
	{"parley_stranger_packets_total", counter, "dialect direction fate", "Packets from and to addresses without a connection. Every handshake has a few. If ignored, malformed, crowded or unproven grow alone, somebody scans or floods the port. The server keeps nothing for such packets, so act only if the network is full.", []from{
		{"Replica.Mux.Malformed", "in malformed"}, {"Replica.Mux.Deferred", "in deferred"}, {"Replica.Mux.Crowded", "in crowded"}, {"Replica.Mux.Unproven", "in unproven"}, {"Replica.Mux.Strangers", "in ignored"},
		{"Replica.Mux.Accepts", "out accept"}, {"Replica.Mux.Rejects", "out reject"}, {"Replica.Mux.Asked", "out challenge"}, {"Replica.Mux.Notices", "out notice"}, {"Replica.Mux.Unsent", "out unsent"},
		{"Stamp.Mux.Malformed", "in malformed"}, {"Stamp.Mux.Crowded", "in crowded"}, {"Stamp.Mux.Strangers", "in ignored"}, {"Stamp.Mux.Unsent", "out unsent"},
		{"Stamp.Mux.Accepts", "out accept"}, {"Stamp.Mux.Rejects", "out reject"}, {"Stamp.Mux.Notices", "out notice"},
		{"Relay.Mux.Refused", "in refused"}, {"Relay.Mux.Full", "in full"}, {"Relay.Mux.Ignored", "in removed"}, {"Relay.Mux.Malformed", "in malformed"}, {"Relay.Mux.Strangers", "in ignored"}, {"Relay.Mux.Answered", "out answer"}, {"Relay.Mux.Unanswered", "out unsent"},
		{"Connector.Mux.Refused", "in refused"}, {"Connector.Mux.Full", "in full"}, {"Connector.Mux.Ignored", "in removed"}, {"Connector.Mux.Malformed", "in malformed"}, {"Connector.Mux.Strangers", "in ignored"}, {"Connector.Mux.Answered", "out answer"}, {"Connector.Mux.Unanswered", "out unsent"},
		{"Duplex.Mux.Malformed", "in malformed"}, {"Duplex.Mux.Strangers", "in ignored"}, {"Duplex.Mux.Bound", "in feed_bound"}, {"Duplex.Mux.Kept", "in feed_kept"}, {"Duplex.Mux.NoPlayer", "in no_player"}, {"Duplex.Mux.WrongToken", "in wrong_token"}, {"Duplex.Mux.Ignored", "in wrong_token_unlooked"}, {"Duplex.Mux.InitsRefused", "in refused"},
		{"Realm.Time.Bursts", "in time_burst"}, {"Realm.Time.Exchanges", "in time_exchange"}, {"Realm.Time.Strangers", "in ignored"}, {"Realm.Time.Limited", "in limited"}, {"Realm.Time.Running", "in time_running"}, {"Realm.Time.Malformed", "in malformed"}, {"Realm.Time.Out", "out time"},
	}},

	{"parley_bans", gauge, "", "Banned addresses and networks. At 10,000 no more can be banned: lift some, or ban larger networks.", []from{{"Bans", ""}}},
	{"parley_banned_total", counter, "dialect carrier", "What was dropped because it came from a banned address: datagrams, connections, and pieces of connections that were open when their address was banned. It costs next to nothing, and nothing is answered. If it fills the network, ask the provider to drop it.", []from{
		{"*.Loop.Banned", "udp"}, {"Connector.Banned", "udp"}, {"Realm.Time.Banned", "udp"}, {"*.Streams.Banned", "tcp"},
	}},

	// Packets of connections.
	{"parley_packets_total", counter, "dialect direction fate", "Packets of connections. For realm, and for the main connection of duplex, these are messages. In: taken is normal; malformed, out_of_time and out_of_state are broken or forged. Out: first is the first transmission of a reliable packet; other is unreliable packets and acknowledgements. If resent grows against first, the network loses packets. unsent: the socket could not keep up; add CPU.", []from{
		{"Replica.Traffic.In - Replica.Traffic.Malformed - Replica.Traffic.OutOfTime - Replica.Traffic.OutOfState", "in taken"},
		{"Stamp.Traffic.Taken", "in taken"}, {"Realm.Traffic.Taken", "in taken"}, {"Duplex.Traffic.FeedTaken", "in taken"},
		{"*.Traffic.Malformed", "in malformed"}, {"*.Traffic.OutOfTime", "in out_of_time"}, {"*.Traffic.OutOfState", "in out_of_state"}, {"*.Traffic.OutOfRange", "in out_of_range"},
		{"*.Traffic.Confirmations", "in confirmation"}, {"*.Traffic.Confirmable", "in reliable"}, {"*.Traffic.Loose", "in unreliable"}, {"*.Traffic.LooseOver", "in over_share"}, {"*.Traffic.LooseUnread", "in unread"},
		{"Duplex.Traffic.Late", "in late"}, {"Duplex.Traffic.TooFar", "in too_far"}, {"Duplex.Traffic.NoRoom", "in no_room"}, {"Duplex.Traffic.Stray", "in stray"}, {"Duplex.Traffic.Ghosts", "in ghost"},
		{"Duplex.Traffic.MainIn - Duplex.Traffic.MainIgnored", "in main"}, {"Duplex.Traffic.MainIgnored", "in main_ignored"},
		{"Realm.Traffic.Refused", "in refused"}, {"Realm.Traffic.ChatFast", "in chat_fast"}, {"Realm.Traffic.Bad", "in bad"}, {"Realm.Traffic.AfterClose", "in after_close"},
		{"*.Traffic.Reliable.First", "out first"}, {"*.Traffic.Reliable.Resent", "out resent"}, {"*.Traffic.Reliable.FastResent", "out fast_resent"}, {"*.Traffic.Reliable.Copies", "out copy"}, {"*.Traffic.Reliable.Probes", "out probe"},
		{"*.Traffic.Out - *.Traffic.Reliable.Transmitted", "out other"}, {"Realm.Traffic.Out", "out queued"},
		{"*.Traffic.LooseLost", "out unsent"}, {"*.Traffic.LooseUnsent", "out unsent"}, {"*.Traffic.ControlOut", "out control_unsent"}, {"*.Traffic.Hushed", "out hushed"},
		{"Duplex.Traffic.FeedOut", "out feed"},
	}},
	{"parley_reliable_sent_total", counter, "dialect fate", "Reliable packets that were sent, by their fate. acked is normal. lost: newer values were sent instead. abandoned: the connection ended first. refused: the window was full; the network or the player is slow.", []from{
		{"*.Traffic.Reliable.Acked", "acked"}, {"*.Traffic.Reliable.Lost", "lost"}, {"*.Traffic.Reliable.Abandoned", "abandoned"}, {"*.Traffic.Reliable.WindowFull", "refused"},
	}},
	{"parley_reliable_received_total", counter, "dialect fate", "Reliable packets that were received, by their fate. delivered is normal. repeat: sent again, because the acknowledgement was lost or late. refused and crowded: there was no room; they come again. too_far, stale and violation: a broken or hostile client.", []from{
		{"*.Traffic.Reliable.Delivered", "delivered"}, {"*.Traffic.Reliable.Repeat", "repeat"}, {"*.Traffic.Reliable.Stale", "stale"}, {"*.Traffic.Reliable.TooFar", "too_far"},
		{"*.Traffic.Reliable.Refused - *.Traffic.Reliable.Crowded", "refused"}, {"*.Traffic.Reliable.Crowded", "crowded"}, {"*.Traffic.Reliable.Violation", "violation"}, {"*.Traffic.Reliable.Skipped", "skipped"},
		{"*.Traffic.Reliable.Outdated", "outdated"}, {"*.Traffic.Reliable.Discarded", "discarded"},
	}},
	{"parley_acks_total", counter, "dialect direction fate", "Acknowledgements. unsent: for packets that were never sent; a broken or hostile client. forgotten: not sent, because too many were owed; the packets come again.", []from{
		{"*.Traffic.Reliable.AcksNew", "in new"}, {"*.Traffic.Reliable.AcksRepeat", "in repeat"}, {"*.Traffic.Reliable.AcksUnsent", "in unsent"},
		{"*.Traffic.Reliable.AcksOut", "out sent"}, {"*.Traffic.Reliable.AcksForgotten", "out forgotten"},
	}},
	{"parley_copies_withheld_total", counter, "dialect reason", "Copies of packets, sent ahead of loss, that were not sent. denied: their share of the bandwidth was used up; the network loses many packets. saved: the acknowledgement came first.", []from{
		{"*.Traffic.Reliable.CopiesDenied", "denied"}, {"*.Traffic.Reliable.CopiesSaved", "saved"},
	}},
	{"parley_dialect_events_total", counter, "dialect event", "Events that only some dialects have. heartbeat: a silent peer was asked for an answer. probe: a package that measures a player's path. feed_lost: the feed of duplex went silent, and main took over; if it grows, a firewall may block UDP. coalesced: updates that were merged for a slow reader. throttled: packages beyond the rate of a peer. untold: skips without an event.", []from{
		{"*.Traffic.Beats", "heartbeat"}, {"*.Traffic.Probes", "probe"}, {"*.Traffic.Untold", "untold"}, {"Duplex.Traffic.Updates", "update"}, {"Duplex.Traffic.Syncs", "sync"}, {"Duplex.Traffic.FeedsLost", "feed_lost"},
		{"Realm.Traffic.Coalesced", "coalesced"}, {"Realm.Traffic.Chunks", "chunk"}, {"Realm.Traffic.ChunkUnsaid", "chunk_refused"}, {"Realm.Mux.Broadcast", "broadcast"}, {"Realm.Mux.Receivers", "broadcast_copy"},
		{"Relay.Mux.Throttled", "throttled"}, {"Relay.Mux.Relayed", "relayed"}, {"Relay.Mux.Copies", "relayed_copy"}, {"Relay.Mux.Unsaid", "unsaid"}, {"Relay.Mux.ToGame", "to_game"},
		{"Connector.Mux.Throttled", "throttled"}, {"Connector.Mux.Relayed", "relayed"}, {"Connector.Mux.Copies", "relayed_copy"}, {"Connector.Mux.Unsaid", "unsaid"}, {"Connector.Mux.ToGame", "to_game"},
	}},

	// The sockets.
	{"parley_bytes_total", counter, "dialect carrier direction", "Payload bytes of the sockets, without the headers of UDP, TCP, IP and TLS. If it grows, parley_world_bytes_total says which fields cost most.", []from{
		{"*.Socket.InBytes", "udp in"}, {"*.Socket.OutBytes", "udp out"}, {"Duplex.Traffic.MainInBytes", "tcp in"}, {"Duplex.Traffic.MainOutBytes", "tcp out"}, {"Realm.Traffic.OutBytes", "tcp out"},
	}},
	{"parley_datagrams_total", counter, "dialect direction fate", "Datagrams of the sockets. dropped: the receive buffer was full; raise net.core.rmem_max or add CPU. truncated: larger than any datagram of the dialect. forged: from an address that only sessions of browsers have. lost: the system did not send them; see parley_socket_faults_total.", []from{
		{"*.Socket.InDatagrams", "in received"}, {"*.Socket.InTruncated", "in truncated"}, {"*.Socket.InForged", "in forged"}, {"*.Socket.InDropped", "in dropped"}, {"*.Socket.OutDatagrams", "out sent"}, {"*.Socket.OutLost", "out lost"},
	}},
	{"parley_datagrams_joined_total", counter, "dialect direction", "Datagrams that shared a system call with others (GRO, GSO). A larger share is cheaper.", []from{{"*.Socket.InJoined", "in"}, {"*.Socket.OutJoined", "out"}}},
	{"parley_socket_calls_total", counter, "dialect direction", "System calls that moved at least one datagram. It grows with the traffic; fewer calls a datagram are cheaper.", []from{{"*.Socket.InBatches", "in"}, {"*.Socket.OutBatches", "out"}}},
	{"parley_socket_waits_total", counter, "dialect direction", "In: times that the reader waited for more datagrams to come together. Out: times that the send buffer was full; raise net.core.wmem_max.", []from{{"*.Socket.InGathers", "in"}, {"*.Socket.OutWaits", "out"}}},
	{"parley_socket_faults_total", counter, "dialect direction fault", "Transient errors that the system reported. refused: players who are gone. no_buffers: the queue of the network card is full. not_permitted: a firewall drops packets.", []from{{"*.Socket.InFaults", "in"}, {"*.Socket.OutFaults", "out"}}},
	{"parley_loop_events_total", counter, "dialect event", "Events of the loop of a dialect's server. queue_full: commands that the loop refused; add CPU. stuck_timer: a bug of parley; please report it.", []from{
		{"*.Loop.Turns", "turn"}, {"*.Loop.Wakes", "wake"}, {"*.Loop.Timeouts", "timeout"}, {"*.Loop.Commands", "command"}, {"*.Loop.QueueFull", "queue_full"}, {"*.Loop.StuckTimers", "stuck_timer"},
	}},

	// Players in browsers.
	{"parley_browser_sessions", gauge, "dialect", "Sessions of players in browsers now, over WebSocket and WebTransport.", []from{{"*.Browsers.Open", ""}}},
	{"parley_browser_sessions_total", counter, "dialect fate", "Sessions of players in browsers, by their fate. opened is the sum of all that began. left and done are normal ends. hasty and crowded: refused, as their address began or had too many. banned and closed: refused. silent: no player in 10 s. stuck: nothing was read for 10 s. flood: too many messages. wrong: the rules of the carrier were broken. cut: the server ended.", []from{
		{"*.Browsers.Opened", "opened"}, {"*.Browsers.Hasty", "hasty"}, {"*.Browsers.Crowded", "crowded"}, {"*.Browsers.Banned", "banned"}, {"*.Browsers.Closed", "closed"}, {"*.Browsers.Left", "left"}, {"*.Browsers.Done", "done"},
		{"*.Browsers.Silent", "silent"}, {"*.Browsers.Stuck", "stuck"}, {"*.Browsers.Flood", "flood"}, {"*.Browsers.Wrong", "wrong"}, {"*.Browsers.Cut", "cut"},
	}},
	{"parley_browser_datagrams_total", counter, "dialect direction fate", "Datagrams of players in browsers. full: dropped, as too many of one session waited for the server; add CPU. old: dropped for newer ones, as a player's network is too slow. large: larger than the carrier takes. gone: for sessions that had ended.", []from{
		{"*.Browsers.In", "in taken"}, {"*.Browsers.InFull", "in full"}, {"*.Browsers.InLarge", "in large"}, {"*.Browsers.Out", "out taken"}, {"*.Browsers.OutOld", "out old"}, {"*.Browsers.OutLarge", "out large"}, {"*.Browsers.OutGone", "out gone"},
	}},
	{"parley_browser_bytes_total", counter, "dialect direction", "Payload bytes of the datagrams of players in browsers.", []from{{"*.Browsers.InBytes", "in"}, {"*.Browsers.OutBytes", "out"}}},

	{"parley_webtransport_waiting", gauge, "", "Connections of WebTransport that have no session yet. At 3,072 the newest of the address that has the most is closed for another. If it stays high, somebody holds connections open.", []from{{"WebTransport.Waiting", ""}}},
	{"parley_webtransport_connections_total", counter, "fate", "Connections of WebTransport before their sessions, by their fate. proven: their address was proven, and they were let in. late: closed, as they had no session within 10 s. chatty: closed, as they made more than 16 requests. hasty, crowded and banned count packets with which connections begin, mostly two for each: refused, as an address or all together began too many in a second or had too many, or as the address was banned. If these grow, somebody floods the port.", []from{
		{"WebTransport.Conns", "proven"}, {"WebTransport.Late", "late"}, {"WebTransport.Chatty", "chatty"}, {"WebTransport.Hasty", "hasty"}, {"WebTransport.Crowded", "crowded"}, {"WebTransport.Banned", "banned"},
	}},

	// relay's connector.
	{"parley_connector_games", gauge, "", "Games of the connector now.", []from{{"Connector.Games", ""}}},
	{"parley_connector_players", gauge, "", "Players in all games of the connector now.", []from{{"Connector.Players", ""}}},
	{"parley_connector_packages_total", counter, "fate", "Packages that came to the connector, by their fate. uncut and foreign: no messages of its clients. not_joined: from an address that is not a player. throttled and behind: beyond the rate of a peer; reliable packages come again.", []from{
		{"Connector.Lobby.ToMain", "to_main"}, {"Connector.Lobby.ToGame", "to_game"}, {"Connector.Lobby.Relayed", "relayed"}, {"Connector.Lobby.NotJoined", "not_joined"}, {"Connector.Lobby.Uncut", "uncut"}, {"Connector.Lobby.Foreign", "foreign"}, {"Connector.Lobby.Late", "late"},
		{"Connector.Lobby.Throttled", "throttled"}, {"Connector.Lobby.Behind", "behind"}, {"Connector.Lobby.Unproven", "unproven"}, {"Connector.Lobby.Misplaced", "misplaced"},
		{"Connector.Lobby.Game.Taken", "game_taken"}, {"Connector.Lobby.Game.Refused", "game_refused"}, {"Connector.Lobby.Game.NotJoined", "game_not_joined"}, {"Connector.Lobby.Game.Ignored", "game_ignored"},
	}},
	{"parley_connector_events_total", counter, "event", "Events of the connector. displaced and evicted: unproven addresses that made room for others; if they grow, somebody floods the port. removed: peers that sent too many invalid messages. unopened: games beyond the limit.", []from{
		{"Connector.Lobby.Messages", "message"}, {"Connector.Lobby.Asked", "challenged"}, {"Connector.Lobby.Proven", "proven"}, {"Connector.Lobby.Displaced", "displaced"}, {"Connector.Lobby.Evicted", "evicted"}, {"Connector.Lobby.Idle", "idle"}, {"Connector.Lobby.Removed", "removed"},
		{"Connector.Lobby.Opened", "game_opened"}, {"Connector.Lobby.Closed", "game_closed"}, {"Connector.Lobby.Different", "game_different"}, {"Connector.Lobby.Unopened", "unopened"},
	}},

	// Accounts.
	{"parley_account_requests_total", counter, "fate", "Requests to accounts: log-ins, registrations, changes. refused: too many were waiting; add CPU, or somebody tries passwords.", []from{{"Accounts.Requests", "taken"}, {"Accounts.Refused", "refused"}}},
	{"parley_account_results_total", counter, "result", "Results of requests to accounts. Many wrong_password and too_many_tries: somebody tries passwords. failed: an error of the store; see the log.", []from{{"Accounts.Results", ""}}},
	{"parley_account_hashes_total", counter, "", "Hashed passwords. Each takes a core for a moment. If it grows fast, somebody tries passwords or registers many accounts.", []from{{"Accounts.Hashes", ""}}},
	{"parley_account_hashing", gauge, "", "Passwords that are being hashed now. If it stays high, log-ins take long: add CPU.", []from{{"Accounts.Hashing", ""}}},
	{"parley_account_faults_total", counter, "fault", "Faults of the store of accounts. bad_hash: a stored hash that cannot be read. not_noted: a log-in that could not be recorded. recheck: bans could not be read again. store: calls of the store that failed, those three included. Check the disk or the database.", []from{
		{"Accounts.BadHashes", "bad_hash"}, {"Accounts.NotNoted", "not_noted"}, {"Accounts.RecheckFailed", "recheck"}, {"Accounts.StoreFailed", "store"},
	}},
	{"parley_account_sessions", gauge, "", "Accounts that are logged in now.", []from{{"Accounts.Sessions", ""}}},
	{"parley_account_waiting", gauge, "stage", "Waiting requests to accounts. queue: not begun; if it stays high, add CPU. answer: done, but not taken by the game yet.", []from{{"Accounts.Waiting", "queue"}, {"Accounts.Unanswered", "answer"}}},

	// The log.
	{"parley_log_lines_total", counter, "fate", "Lines of the log. limited: left out, because lines of their kind came more than ten times a second. dropped: left out, because the log was read too slowly.", []from{{"Log.Lines", "written"}, {"Log.Limited", "limited"}, {"Log.Dropped", "dropped"}}},
	{"parley_log_waiting", gauge, "", "Lines that wait to be written. If it stays high, the reader of standard error has stopped.", []from{{"Log.Waiting", ""}}},
}

// leftOut are the counters that no metric has, with the metric that says the same, or the reason.
var leftOut = map[string]string{
	"World.LastTick":                "parley_tick_seconds",
	"World.HeldCalls":               "parley_cluster_behind_entries",
	"World.TickP50":                 "parley_tick_seconds",
	"World.TickP99":                 "parley_tick_seconds",
	"World.RefusedInputs":           "parley_inputs_refused_total",
	"World.World.Ticks":             "parley_ticks_total",
	"Keep.Appended":                 "parley_keep_entries_total",
	"Matches.Joined":                "the sum of parley_match_wishes_total without refused, and of parley_match_waiting",
	"Replica.Traffic.Reliable.In":   "the sum of parley_reliable_received_total and of what waits",
	"Stamp.Traffic.Reliable.In":     "likewise",
	"Relay.Traffic.Reliable.In":     "likewise",
	"Connector.Traffic.Reliable.In": "likewise",
	"*.Traffic.Reliable.Accepted":   "the sum of parley_reliable_sent_total and of what is under way",
	"*.Traffic.Reliable.AcksIn":     "the sum of parley_acks_total",
	"*.Traffic.In":                  "the sum of parley_packets_total",
	"Duplex.Traffic.FeedIn":         "the sum of parley_packets_total",
	"Stamp.Mux.In":                  "the sum of parley_stranger_packets_total and of packets",
	"Stamp.Mux.ToConns":             "likewise",
	"Duplex.Mux.In":                 "likewise",
	"Duplex.Mux.ToConns":            "likewise",
	"Relay.Mux.In":                  "likewise",
	"Relay.Mux.ToPeers":             "likewise",
	"Relay.Mux.Out":                 "likewise",
	"Connector.Mux.In":              "likewise",
	"Connector.Mux.ToPeers":         "likewise",
	"Connector.Mux.Out":             "likewise",
	"Connector.Lobby.Packages":      "the sum of parley_connector_packages_total",
	"Realm.Time.In":                 "the sum of parley_stranger_packets_total",
	"*.Streams.Opened":              "parley_connections_total",
	"Accounts.MaxHashing":           "the most of parley_account_hashing",
}
