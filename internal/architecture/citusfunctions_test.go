package architecture

import "slices"

// functions holds the functions that a statement calls to the rules.
func (r *reader) functions(v any) {
	visit(v, func(kind string, q node) bool {
		switch kind {
		case "FuncCall":
			r.called(functionName(q))
		case "UpdateStmt", "DeleteStmt":
			if r.changesDomain(q) {
				r.unchanging(kind, q)
			}
		case "InsertStmt":
			if r.changesDomain(q) {
				r.overColumns(q["returningList"])
			}
			conflict, _ := q["onConflictClause"].(node)
			if target := conflict["targetList"]; r.changesDomain(q) && target != nil {
				r.inConflict([]any{target, conflict["whereClause"]})
			}
		}
		return true
	})
}

// sessions are functions whose effect outlives the transaction.
var sessions = []string{"pg_advisory_lock", "pg_advisory_lock_shared", "pg_try_advisory_lock", "pg_try_advisory_lock_shared"}

func (r *reader) called(name string) {
	switch {
	case name == "set_config":
		r.report("set_config", "it doesn't reach the nodes")
	case slices.Contains(sessions, name):
		r.report("session state", "%s holds its lock until the session ends", name)
	}
}

func (r *reader) changesDomain(q node) bool {
	target, _ := q["relation"].(node)
	return r.tables[text(target["relname"])].columns != nil
}

// unchanging refuses volatile functions anywhere in a change of rows that are there.
func (r *reader) unchanging(kind string, q node) {
	visit(q, func(inner string, call node) bool {
		if inner == "FuncCall" && r.volatility[functionName(call)] == "v" {
			r.report("volatile function", "%s in a %s", functionName(call), kind)
		}
		return true
	})
	r.overColumns(q["targetList"])
	r.overColumns(q["returningList"])
}

// overColumns refuses functions over columns that aren't immutable.
func (r *reader) overColumns(v any) {
	visit(v, func(kind string, call node) bool {
		if kind != "FuncCall" || r.volatility[functionName(call)] == "i" {
			return true
		}
		columns := false
		visit(call["args"], func(kind string, _ node) bool {
			columns = columns || kind == "ColumnRef"
			return true
		})
		if columns {
			r.report("function over columns", "%s in SET or RETURNING", functionName(call))
		}
		return true
	})
}

// inConflict refuses the clock, and what else isn't immutable, in DO UPDATE.
func (r *reader) inConflict(v any) {
	visit(v, func(kind string, call node) bool {
		switch {
		case kind == "SQLValueFunction":
			r.report("DO UPDATE", "%s", text(call["op"]))
		case kind == "FuncCall" && r.volatility[functionName(call)] != "i":
			r.report("DO UPDATE", "%s", functionName(call))
		}
		return true
	})
}
