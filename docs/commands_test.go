package docs

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	// command is a call of holdfast: its words, up to what isn't one.
	command = regexp.MustCompile(`(?:^|[\s(])holdfast((?: [a-z][a-z-]*)+)([^|;&)]*)`)
	flag    = regexp.MustCompile(`--[a-z][a-z-]*`)
)

// TestPages_WhatIsNotTypedIsACommandAllTheSame holds the blocks that can't be run here
// to the command line's own help: the commands are there, and so are their flags.
func TestPages_WhatIsNotTypedIsACommandAllTheSame(t *testing.T) {
	t.Parallel()
	pages, err := filepath.Glob("*.md")
	if err != nil {
		t.Fatal(err)
	}
	checked := 0
	for _, page := range pages {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, found := range block.FindAllSubmatch(text, -1) {
			if string(found[1]) != "console" {
				continue
			}
			joined := strings.ReplaceAll(string(found[2]), "\\\n", " ")
			for line := range strings.Lines(joined) {
				line, _, _ = strings.Cut(line, "    #")
				for _, call := range command.FindAllStringSubmatch(line, -1) {
					checked++
					checkCommand(t, page, filepath.Join(programs, "holdfast"), call[1], call[2])
				}
			}
		}
	}
	if checked == 0 {
		t.Error("no command was found: the test doesn't see the pages")
	}
}

func checkCommand(t *testing.T, page, holdfast, words, rest string) {
	t.Helper()
	help, err := exec.Command(holdfast, append(strings.Fields(words), "--help")...).CombinedOutput()
	usage := "holdfast" + words
	if err != nil || !strings.Contains(string(help), usage) {
		t.Errorf("%s: %s is no command: %v\n%s", page, usage, err, lastLines(help, 5))
		return
	}
	for _, named := range flag.FindAllString(rest, -1) {
		if !strings.Contains(string(help), named+" ") && !strings.Contains(string(help), named+"\n") {
			t.Errorf("%s: %s has no flag %s", page, usage, named)
		}
	}
}
