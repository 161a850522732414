package program

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
)

// errLineTooLong is returned by lineReader.next for a line over the limit.
var errLineTooLong = fmt.Errorf("the line is longer than %d bytes", maxLineBytes)

// A lineReader reads lines of bounded length. Unlike bufio.Scanner it can go
// on after a line that is too long.
type lineReader struct {
	r    *bufio.Reader
	line []byte // reused by next
}

func newLineReader(r io.Reader) *lineReader {
	return &lineReader{r: bufio.NewReaderSize(r, 64<<10)}
}

// ready reports whether next can answer without reading.
func (l *lineReader) ready() bool {
	buffered, _ := l.r.Peek(l.r.Buffered())
	return bytes.IndexByte(buffered, '\n') >= 0
}

// next returns the next line without its end, which is \n or \r\n; the last
// line may have none. The line is valid until the next call. A line over the
// limit is skipped whole and gives errLineTooLong. At the end it returns
// io.EOF.
func (l *lineReader) next() ([]byte, error) {
	l.line = l.line[:0]
	tooLong := false
	for {
		part, err := l.r.ReadSlice('\n')
		if len(l.line)+len(part) > maxLineBytes+len("\r\n") {
			tooLong = true
		}
		if !tooLong {
			l.line = append(l.line, part...)
		}
		switch {
		case err == bufio.ErrBufferFull:
			continue
		case err == io.EOF && len(l.line) == 0 && !tooLong:
			return nil, io.EOF
		case err != nil && err != io.EOF:
			return nil, err
		}
		line := bytes.TrimSuffix(l.line, []byte("\n"))
		line = bytes.TrimSuffix(line, []byte("\r"))
		if tooLong || len(line) > maxLineBytes {
			return nil, errLineTooLong
		}
		return line, nil
	}
}
