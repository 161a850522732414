package pagetest

import (
	"os"
	"path/filepath"
	"testing"
)

func TestTablesAreReadByTheirHeadings(t *testing.T) {
	name := filepath.Join(t.TempDir(), "page.md")
	page := "# A page\n\n## Sizes\n\n| field | bytes |\n| --- | ---: |\n| one | 1 to 0x10 |\n| two | 65,535 |\n\nA word.\n\n### Others\n\n| x |\n| --- |\n|  |\n\nAnd:\n\n| y |\n| --- |\n| 1 |\n"
	if err := os.WriteFile(name, []byte(page), 0o600); err != nil {
		t.Fatal(err)
	}
	tables := Tables(t, name)
	sizes := tables["Sizes"]
	if len(tables) != 3 || len(tables["Others, y"]) != 1 || len(sizes) != 2 || sizes[0]["field"] != "one" || len(tables["Others"]) != 1 {
		t.Fatalf("the tables are %v", tables)
	}
	if low, high := Span(t, sizes[0]["bytes"]); low != 1 || high != 16 {
		t.Errorf("one is %d to %d", low, high)
	}
	if low, high := Span(t, sizes[1]["bytes"]); low != 65535 || high != 65535 {
		t.Errorf("two is %d to %d", low, high)
	}
}
