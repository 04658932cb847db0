package main

import (
	"bytes"
	"encoding/json"
)

// What Grafana reads, as far as this dashboard has it (schema version 41, Grafana
// 11 and later).
type dashboard struct {
	Title         string     `json:"title"`
	UID           string     `json:"uid"`
	Description   string     `json:"description"`
	Tags          []string   `json:"tags"`
	SchemaVersion int        `json:"schemaVersion"`
	Editable      bool       `json:"editable"`
	Refresh       string     `json:"refresh"`
	Time          timeRange  `json:"time"`
	Templating    templating `json:"templating"`
	Panels        []panel    `json:"panels"`
}

type timeRange struct {
	From string `json:"from"`
	To   string `json:"to"`
}

type templating struct {
	List []variable `json:"list"`
}

// variable lets whoever looks choose the Prometheus.
type variable struct {
	Name  string `json:"name"`
	Label string `json:"label"`
	Type  string `json:"type"`
	Query string `json:"query"`
}

type panel struct {
	ID          int          `json:"id"`
	Type        string       `json:"type"` // "row" or "timeseries"
	Title       string       `json:"title"`
	Description string       `json:"description,omitempty"`
	GridPos     position     `json:"gridPos"`
	Datasource  *source      `json:"datasource,omitempty"`
	FieldConfig *fieldConfig `json:"fieldConfig,omitempty"`
	Targets     []target     `json:"targets,omitempty"`
}

type position struct {
	X int `json:"x"`
	Y int `json:"y"`
	W int `json:"w"`
	H int `json:"h"`
}

type source struct {
	Type string `json:"type"`
	UID  string `json:"uid"`
}

type fieldConfig struct {
	Defaults  fieldDefaults `json:"defaults"`
	Overrides []any         `json:"overrides"`
}

type fieldDefaults struct {
	Unit string   `json:"unit"`
	Min  *float64 `json:"min"`
}

type target struct {
	RefID  string `json:"refId"`
	Expr   string `json:"expr"`
	Legend string `json:"legendFormat"`
}

// The dashboard is 24 columns wide.
const (
	width   = 24
	across  = 4 // panels
	tall    = 7
	rowTall = 1
)

// Render makes the dashboard's file of rows.
func Render(rows []Row) ([]byte, error) {
	prometheus := &source{"prometheus", "${prometheus}"}
	d := dashboard{
		Title: "Holdfast", UID: "holdfast", Tags: []string{"holdfast"},
		Description:   "Made by deploy/observability from panels.go. docs/observability.md says what is measured.",
		SchemaVersion: 41, Editable: true, Refresh: "30s", Time: timeRange{"now-3h", "now"},
		Templating: templating{[]variable{{Name: "prometheus", Label: "Prometheus", Type: "datasource", Query: "prometheus"}}},
	}
	y, id := 0, 0
	for _, row := range rows {
		id++
		d.Panels = append(d.Panels, panel{ID: id, Type: "row", Title: row.Title, GridPos: position{0, y, width, rowTall}})
		y += rowTall
		for i, p := range row.Panels {
			id++
			d.Panels = append(d.Panels, panel{
				ID: id, Type: "timeseries", Title: p.Title, Description: p.About, Datasource: prometheus,
				GridPos:     position{i % across * width / across, y + i/across*tall, width / across, tall},
				FieldConfig: &fieldConfig{fieldDefaults{p.Unit, new(float64)}, []any{}},
				Targets:     targets(p.Series),
			})
		}
		y += (len(row.Panels) + across - 1) / across * tall
	}
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	err := encoder.Encode(d)
	return out.Bytes(), err
}

func targets(series []Series) (all []target) {
	for i, s := range series {
		all = append(all, target{RefID: string(rune('A' + i)), Expr: s.Query, Legend: s.Legend})
	}
	return all
}
