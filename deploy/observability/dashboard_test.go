package main

import (
	"bytes"
	"encoding/json"
	"os"
	"testing"
)

func TestDashboard_IsWhatThePanelsMake(t *testing.T) {
	want, err := Render(Rows())
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile("dashboard.json")
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(want, got) {
		t.Error("run go generate in deploy/observability")
	}
}

// units are those of Grafana's that the dashboard may have.
var units = map[string]bool{"short": true, "s": true, "bytes": true, "Bps": true, "percentunit": true, "reqps": true, "ops": true}

func TestDashboard_EveryPanelSaysWhatItShowsAndNoneOverlaps(t *testing.T) {
	text, err := os.ReadFile("dashboard.json")
	if err != nil {
		t.Fatal(err)
	}
	var d dashboard
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&d); err != nil {
		t.Fatal(err)
	}
	ids, titles := map[int]bool{}, map[string]bool{}
	taken := map[[2]int]string{} // cells
	for _, p := range d.Panels {
		if p.Title == "" || ids[p.ID] || p.Type != "row" && titles[p.Title] {
			t.Errorf("panel %d %q: it has no title, or shares one, or its id", p.ID, p.Title)
		}
		ids[p.ID] = true
		for x := p.GridPos.X; x < p.GridPos.X+p.GridPos.W; x++ {
			for y := p.GridPos.Y; y < p.GridPos.Y+p.GridPos.H; y++ {
				if x >= width || taken[[2]int{x, y}] != "" {
					t.Fatalf("%q lies on %q, or outside", p.Title, taken[[2]int{x, y}])
				}
				taken[[2]int{x, y}] = p.Title
			}
		}
		if p.Type == "row" {
			continue
		}
		titles[p.Title] = true
		if p.Description == "" || p.Datasource == nil || !units[p.FieldConfig.Defaults.Unit] || len(p.Targets) == 0 {
			t.Errorf("%q lacks a description, a source, a unit or a query", p.Title)
		}
		for _, target := range p.Targets {
			if target.Expr == "" || target.Legend == "" {
				t.Errorf("%q has a line without a query or a name: %+v", p.Title, target)
			}
		}
	}
}
