// Package postgres knows where the databases are: one for control, and one or
// more for data, each holding some of the 64 numbers. It opens the pools, runs
// the migrations, refuses a wrong schema, and turns PostgreSQL's failures into
// the domain's kinds of error. What runs in a transaction is tenancy's and the
// domain packages' business.
package postgres
