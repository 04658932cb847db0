// Command observability writes dashboard.json, the Grafana dashboard, from the panels
// that panels.go lists. Its tests hold the dashboard and the rules of alerts.yaml to
// what a running installation tells: every metric that they name is emitted, and what
// is told names no person, and no tenant where it is a metric.
//
// It is a module of its own, since only its tests need Prometheus' parsers.
package main

//go:generate go run . dashboard.json
