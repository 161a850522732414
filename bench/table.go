package main

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// column is a figure as a table shows it.
type column struct {
	figure   string
	title    string
	decimals int
}

// writeHead says what is measured, with what, and where.
func writeHead(out io.Writer, r *Report) {
	fmt.Fprintf(out, "%s: %d cores of %s, %s, %s; load %s\n", r.Began.Format("2006-01-02 15:04"), r.Machine.Cores, r.Machine.Processor, r.Machine.System, r.Machine.Go, r.Machine.Load)
	fmt.Fprintf(out, "Medians of %d rounds, and behind ± the half of what lies between the least and the most.\n\n", r.Rounds)
	for _, p := range r.Peers {
		settings := p.Settings
		if p.Version != "" {
			settings = p.Version + "; " + settings
		}
		if p.Missing != "" {
			settings = "left out: " + p.Missing
		}
		fmt.Fprintf(out, "  %-20s %s\n", p.Name, settings)
	}
}

// writeTable writes the rows of a work as a table that is Markdown too.
func writeTable(out io.Writer, r *Report, w work) {
	head := []string{"case", "peer"}
	for _, c := range w.columns {
		head = append(head, c.title)
	}
	lines := [][]string{head}
	for _, row := range r.Rows {
		if row.Work == w.name {
			lines = append(lines, cells(row, w.columns))
		}
	}
	fmt.Fprintf(out, "\n%s\n\n", w.title)
	writeLines(out, lines)
}

// cells are the texts of a row. A row without figures has its error in the first.
func cells(row Row, columns []column) []string {
	line := []string{row.Case, row.Peer}
	for i, c := range columns {
		x, ok := row.Figures[c.figure]
		switch {
		case ok:
			line = append(line, showSpread(x, c.decimals))
		case i == 0 && len(row.Errors) > 0:
			line = append(line, "failed: "+strings.ReplaceAll(row.Errors[0], "|", "/"))
		default:
			line = append(line, "")
		}
	}
	if failed := len(row.Errors); failed > 0 && len(row.Figures) > 0 {
		line[1] += fmt.Sprintf(" (failed %d times)", failed)
	}
	return line
}

func showSpread(x Spread, decimals int) string {
	text := fmt.Sprintf("%.*f", decimals, x.Median)
	if x.Rounds > 1 {
		text += fmt.Sprintf(" ±%.*f", decimals, (x.Most-x.Least)/2)
	}
	return text
}

// writeLines writes a table: the first line is its head, and all columns but the first two
// are numbers.
func writeLines(out io.Writer, lines [][]string) {
	widths := make([]int, len(lines[0]))
	for _, line := range lines {
		for i, cell := range line {
			// What a failure says is as long as it is, and no reason for a wide column.
			if !strings.HasPrefix(cell, "failed: ") {
				widths[i] = max(widths[i], utf8.RuneCountInString(cell))
			}
		}
	}
	for n, line := range lines {
		for i, cell := range line {
			pad := strings.Repeat(" ", max(widths[i]-utf8.RuneCountInString(cell), 0))
			if i < 2 {
				cell += pad
			} else {
				cell = pad + cell
			}
			fmt.Fprint(out, "| ", cell, " ")
		}
		fmt.Fprintln(out, "|")
		if n > 0 {
			continue
		}
		for i, width := range widths {
			end := " "
			if i >= 2 {
				end = ":"
			}
			fmt.Fprint(out, "| ", strings.Repeat("-", max(width-1, 2)), strings.Repeat("-", 1-len(strings.Trim(end, " "))), strings.Trim(end, " "), " ")
		}
		fmt.Fprintln(out, "|")
	}
}
