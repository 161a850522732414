package program

// maxLineBytes bounds one line of standard input, so that a file without line
// ends cannot fill the memory: it costs one error, not the machine. The
// largest packet of any dialect is 256 KiB (a realm message with terrain),
// which is 512 KiB of hex, or about 2.5 MiB of JSON at 27 characters for each
// cell of 3 bytes.
const maxLineBytes = 4 << 20

// helpColumns is how wide help may be: a terminal is 80 columns wide if nobody made it wider.
const helpColumns = 80

// defaultTickRate is how many ticks a second a server has unless it is told otherwise.
const defaultTickRate = 20

// maxKnownBytes bounds the file of known servers: it is read whole before a password is sent. That is for 8,000 servers.
const maxKnownBytes = 1 << 20
