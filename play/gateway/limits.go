package gateway

import (
	"time"

	"parley/cluster/core"
)

const (
	// maxFieldRows bounds the rows of FieldBytes, and so the series of /metrics that a game can make: a schema of thousands of fields
	// would fill the memory of the program that scrapes them.
	maxFieldRows = 256

	// maxRequests bounds what one connection may ask for between two ticks. Further
	// requests are dropped and counted: a client that floods costs a tick this much and no
	// more, and the world takes 32 inputs of a player in any case.
	maxRequests = 64

	// departHold is for how long a seat is held whose client may not come back: long enough for a page that is loaded again, and no longer
	// than others like to see somebody stand there.
	departHold = 5 * time.Second

	// maxDepartures bounds the departures between two turns, of 32 bytes each: strangers can send them. Beyond it they are forgotten, and those seats
	// are held as others are.
	maxDepartures = 256

	// drainEvery is how often a server that is drained sends players on, and movedATurn how many of each room: so other servers are not asked
	// to let in a thousand in one moment.
	drainEvery = 50 * time.Millisecond
	movedATurn = 32

	// sequencersFirst is how long a drain waits until other servers make the entries of its rooms. Beyond it players go all the same.
	sequencersFirst = 5 * time.Second

	// movingGrace is how long a player is heard who was told to go on elsewhere: what its client sent before it was told arrives
	// meanwhile, a lost packet that is sent again included.
	movingGrace = 250 * time.Millisecond

	// maxSpoken bounds the lines of chat that a shared room keeps for players who are away for a moment, of 512 bytes each. One who was away
	// for more lines has missed the oldest.
	maxSpoken = 64

	// maxFarHeard bounds the messages of other servers' participants over relay that wait, of 32 KiB each at most. Beyond it they are dropped, and
	// what is reliable comes again. farATurn is how many are read while the dialect's loop stands still, and farGather how long a package waits for
	// others to go with it.
	maxFarHeard = 256
	farATurn    = 32
	farGather   = time.Millisecond

	// maxCommands bounds what other goroutines may have the hub do between two ticks.
	maxCommands = 256

	// maxChat bounds a line of chat: "chat_send of 1–512 bytes" (realm), for all dialects.
	maxChat = 512

	// chatRate is how many lines a second a player may say: "at most 5 a second" (realm).
	// Further ones are dropped and counted.
	chatRate = 5

	// maxAsked bounds the chunks that a player has asked for and was not sent yet.
	// Further ones are dropped: it asks again.
	maxAsked = 64

	// terrainRate is the budget of terrain for each player, in bytes a second: "within a
	// budget of bytes a second for each client (256 KiB by default): 1 KiB of request can
	// ask for 50 MB" (realm).
	terrainRate = 256 << 10

	// leastChunk is what a chunk costs of that budget at least, in bytes: to make and to encode one
	// takes some 0.5 ms, however few bytes that gives.
	leastChunk = 4 << 10

	// chunksATick is how many chunks a player is sent in a tick: what it saved up of its budget
	// must not be one long tick for all.
	chunksATick = 2

	// chunksATickOfAll is how many are made in a tick for all players together: a crowd that walks
	// into new terrain at once waits for it, and the tick does not.
	chunksATickOfAll = 8

	// terrainATickOfAll bounds what all players together are sent of terrain in a tick, in bytes, a
	// chunk counting as leastChunk at least: chunks that were made are kept, but to copy thousands for a
	// crowd takes its time too.
	terrainATickOfAll = 1 << 20

	// bulkUnacked is how many bytes more than usual may be under way to a player for a chunk to go out: behind a slow
	// link, a second chunk would double the time for which the player sees nothing else.
	bulkUnacked = 4 << 10

	// bulkPatience is the number of ticks in which what is under way becomes usual. A chunk has arrived sooner, but for a narrow path, where
	// terrain has its share.
	bulkPatience = 64

	// bulkShare is which part of a narrow path's bytes is terrain's while a player waits for some: an eighth. It is saved up
	// to maxBulk, so that a player who asks after a long time has no seconds of terrain at once.
	bulkShare = 8
	maxBulk   = 16 << 10

	// syncShare is which part of a narrow path's bytes a sync of all elements may use (duplex): the values in it are as new as
	// any, but not chosen.
	syncShare = 8

	// maxLand bounds the chunks that are kept as they are sent, in bytes: when there are more, all are
	// let go.
	maxLand = 32 << 20

	// replicaBudget is the most that a replica client is sent of values in a tick, in bytes: 80 kB a
	// second at 20 ticks. On a narrow path it is less.
	replicaBudget = 4096

	// spectatorBytes bounds what a spectator has not confirmed and is kept for it: spectators come without a ticket, and are many.
	spectatorBytes = 32 << 10

	// realmPredict is how often realm's clients are told the place of a body that goes straight
	// on, in ticks: they move it by its speed.
	realmPredict = 10

	// correctionsASecond is how often a realm player whose moves are refused is told where it is: a client that
	// does not listen is told no more often, and one that does needs no second time.
	correctionsASecond = 2

	// maxName bounds a player's name, in bytes.
	maxName = 64

	// mostBehind is how far the hub may be behind before it lets ticks go, until it is half as far: a machine that was
	// asleep must not run hours at once, and one that had too much to do is as before soon after, within 10 s if ticks take
	// two thirds of their period (T57). Less than that is run as fast as it goes.
	mostBehind = 5 * time.Second

	// maxHeld bounds the inputs of a player that wait for the world to come to their tick; with one
	// more the oldest is done at once.
	maxHeld = 64

	// holdTime is how long such an input waits at most. A stall is caught up with sooner; in a world
	// that stays behind, what a player does must not take as long as the world is behind.
	holdTime = time.Second

	// maxStampAhead is how many ticks an input with a stamp is held at most, and maxStamped how many of a player are: "The server holds
	// an input for its tick, at most 8 ticks and 32 inputs a player" (inputs). One that is meant for later is done then; with one
	// more the oldest is done at once. 32 inputs are 15 KiB.
	maxStampAhead = 8
	maxStamped    = 32

	// stampWindow is how many numbers of stamps are remembered, so that each is done once. A message that is sent again until it
	// arrives may be overtaken by seconds of others. It is 128 bytes a player.
	stampWindow = 1024

	// maxRoll is how many bytes of members a tick tells a client: in a room of 4,096 a newcomer has some 80 KB to read. It is less than a
	// package of relay holds.
	maxRoll = 480

	// maxDeparted bounds the players who have left a room and are remembered because a client has not read of them yet: a client that
	// stops reading must not have all remembered who ever left.
	maxDeparted = 1024

	// maxTapped is how many events wait for a consumer that does not take them, some 6 MB. With more its iteration ends, and it may go on
	// from where it was: the tick waits for nobody.
	maxTapped = 1 << 14

	// maxEnded is how many rooms that their games have ended are remembered, with results of 1 KiB at most.
	maxEnded = 256

	// maxInjected is how many actions of the world itself wait for a room. A tick takes 32.
	maxInjected = 256

	// rereads is how often the log of a room is read anew, when files of it were removed that had become too old.
	rereads = 5

	// shedBehind is how far the hub may be behind, for shedFor, before it lets nobody in. Players in the game
	// are served, and newcomers are told to come again. A hub that can keep up catches up sooner than that after a stall.
	shedBehind = time.Second
	shedFor    = time.Second / 2

	// Ticks of rooms are spread over mostSlots times in a period, or fewer if those would be less than leastSlot apart: at each
	// all loops are visited once.
	mostSlots = 8
	leastSlot = 5 * time.Millisecond

	// leastKnock is how soon after a turn the next is run for those who want to enter: strangers who come by the thousand do not have the
	// loops stopped each time.
	leastKnock = 2 * time.Millisecond

	// leastTurn is how often the hub looks around when no tick is due.
	leastTurn = time.Second

	// A step that was seen spinLooks times, watchEvery apart, does not end: its room is given up. "One that spins is found within
	// 2 s."
	watchEvery = time.Second / 5
	spinLooks  = 8

	// maxStacks bounds the stacks that are taken to find that of a room which spins.
	maxStacks = 8 << 20

	// defaultMaxRooms bounds rooms: each costs memory, and with players a core's time.
	defaultMaxRooms = 1000

	// defaultIdle is how long a room other than main stays when it is empty.
	defaultIdle = time.Minute

	// defaultHold is how long the seat of a player is held whose connection is gone.
	defaultHold = 30 * time.Second

	defaultTickRate   = 20
	defaultMaxPlayers = 1000

	// defaultPerAddress is how many seats an address has at once: "at most `--per-address` (default 256, −1 is no limit) seats of an
	// address are taken at once, over all dialects" (entry). One host cannot fill a game.
	defaultPerAddress = 256

	// An address may take the seats that it may have twice at once, and joinShare of them again each second; a prefix four times
	// that. Each entity's number rests for a minute after its player left, so with the default an address has at most 2,432
	// numbers at rest, and a prefix 9,728 of 32,767: log-ins by the thousand leave some for others.
	joinBurst  = 2
	joinShare  = 8
	prefixMore = 4

	// leastJoins is the rate a second, and the burst, that the least share of an address gives.
	leastJoins = 16

	// nameTime is how long the store of accounts may take to say whether a name is an account's.
	nameTime = 5 * time.Second

	// maxNaming bounds the guests whose names are being looked up at once: a store of accounts that is slow must not gather all who
	// come. With more, one is told to come again.
	maxNaming = 1024

	// badPasses is how many malformed or forged passes of an address are answered at once, and then in a minute: "counted by
	// address, ten a minute; beyond that only sound passes of that address are looked at" (entry). badPassCost is one of them
	// in tokens, of which a second brings one.
	badPasses   = 10
	badPassCost = 6

	// operatorShare is the share of the places for rooms, one in so many, that rooms of players leave to the operator. Strangers can be
	// matched with themselves, and stay in their rooms, until there is no place: an operator must still be able to open one.
	operatorShare = 8

	// ownKeyBytes is the size of the server's own key for tickets: as long as the hash that it is for.
	ownKeyBytes = 32

	// maxTicketTime bounds how long tickets of the server are valid: used ones are remembered until they expire.
	maxTicketTime = 30 * 24 * time.Hour

	// maxSpent bounds the spent tickets that are remembered until they expire, some 32 MiB in all. With more no ticket is
	// taken, as it could be used twice. Only the issuer of tickets can fill it.
	maxSpent = 1 << 18

	// maxSpentBatch is how many are written at once: what a loss of power may leave half written.
	maxSpentBatch = 128

	// maxSpentRecords bounds the file, to 16 MiB: with more it is written anew, without those that have expired.
	maxSpentRecords = 2 * maxSpent

	// latelyTicks is how many of its newest ticks a room remembers the time of: 13 s at 20 ticks a second, in a kilobyte.
	latelyTicks = 256

	// goodbyeTime is how long Close waits for the dialects to say goodbye.
	goodbyeTime = 5 * time.Second

	// maxWishes bounds the inputs and lines of chat of a server's players in a shared room that wait for its log, and maxWishBytes their bytes: three
	// quarters of what the log's part takes, so that others can come in and leave while players flood it. One player has maxWishesOf inputs there at
	// most, as in a tick, and fewWishesOf when half is taken: a crowd that floods has no more there than others.
	maxWishes    = core.MaxWaiting / 4 * 3
	maxWishBytes = core.MaxWaitingBytes / 4 * 3
	maxWishesOf  = 32
	fewWishesOf  = 1

	// silentNode is after how long a player of another server is away whom no server claims. It is the lease of a node: a server whose
	// messages are late for less must not have its players stand still.
	silentNode = 10 * time.Second

	// scheduleSpan is for how long the least counts of what an entry takes to come, by which the clock of its sequencer is known, and scheduleNear how near
	// that is to the one before.
	scheduleSpan = 2 * time.Second
	scheduleNear = 100 * time.Millisecond

	// maxHere bounds what a server tells of its players once a second: those of 20,000.
	maxHere = 60 << 10

	// maxStarts bounds the stages of rooms of a cluster that are made or loaded at once: each may read a snapshot of 10 MiB. With more, whoever wants to
	// enter another is told to come again.
	maxStarts = 64

	// An address may have startBurst stages made at once and startRate more a second, and all together startsBurst and startsRate: strangers must not have
	// this server load and run all rooms of a cluster.
	startRate   = 1
	startBurst  = 16
	startsRate  = 16
	startsBurst = 128

	// stageIdle is how long a stage stays at most of which no player of this server is.
	stageIdle = time.Minute

	// maxEntering bounds those who wait for one stage to be made or loaded. Who comes when it has run what it has missed for longer than maxCatchUp is
	// told to come again: clients wait for two seconds.
	maxEntering = 1024
	maxCatchUp  = time.Second

	// awaitTime is how long a room that the directory does not have is waited for, and maxAwaits how many wait: it may have been opened elsewhere a moment ago.
	awaitTime = 250 * time.Millisecond
	maxAwaits = 256

	// A session is looked up in the store of a cluster: at most maxLooking at once, with maxLookups that wait, lookRate a second of an address, which may
	// have all its seats come back at once, and looksRate a second in all. Anybody can send tokens that nobody has, and the store is all servers'.
	maxLooking = 64
	maxLookups = 1024
	lookRate   = 8
	looksRate  = 200
	looksBurst = 2048
	lookTime   = 5 * time.Second

	// earlyTime is how long a stage may be behind the store that knows a token, and soonTime how often it is looked at.
	earlyTime = 3 * time.Second
	soonTime  = 50 * time.Millisecond

	// maxNotes bounds the tokens on their way to the store, some 1 MiB.
	maxNotes = 8192

	// tokenTime is how long the store keeps a token that no server notes again. They do so twice in that time.
	tokenTime = time.Hour

	// openTime bounds how long the operator waits for a room of a cluster to be opened or closed: longer than the cluster elects a leader.
	openTime = 20 * time.Second

	// claimTime is for how long what a server has said of its players counts.
	claimTime = 3 * time.Second

	// clearTime is how long the log stays of a main room that its game has ended, for servers that are behind, and lateTime how long such a server waits.
	clearTime = time.Minute
	lateTime  = 15 * time.Second

	// overTime is how long the log stays of another room that its game has ended. A server that is further behind says that the room was closed.
	overTime = 2 * time.Second

	// maxDifferences bounds the fields that are listed in which two worlds differ: when the random source does, all do soon.
	maxDifferences = 1000

	// maxHeldCalls bounds what a room of a cluster has this server do that it has not done yet: entries, and requests of other servers. A server that is too slow
	// must not gather what it cannot do: further messages wait in the client of NATS, which drops them when it has too many, and entries are asked for again.
	maxHeldCalls = 256

	// alikeTime bounds how long a server that begins waits until it knows the others, at which it looks each alikeEach, and alikeAsk how long they have to say
	// which version of the game they run: one that was killed a moment ago does not answer.
	alikeTime = 20 * time.Second
	alikeEach = 20 * time.Millisecond
	alikeAsk  = time.Second

	// askEach is how often other servers are asked at most which rooms they run: strangers have it asked when they look at the list of rooms.
	askEach = time.Second

	// orphanEach is how often it is looked for rooms that no server runs, and orphanLooks how often one is seen before it is ended.
	orphanEach  = 30 * time.Second
	orphanLooks = 3
)
