package architecture

import (
	"fmt"
	"slices"
)

// reader holds a statement to the rules, query by query.
type reader struct {
	catalogue
	relations int // that were met
	ctes      map[string]bool
	found     []finding
}

// finding is a breach of a rule.
type finding struct {
	rule string
	what string
}

func (r *reader) report(rule, format string, args ...any) {
	r.found = append(r.found, finding{rule, fmt.Sprintf(format, args...)})
}

// query reads a SELECT, INSERT, UPDATE or DELETE and all that is in it.
func (r *reader) query(kind string, q node, outer *scope, known *equalities) {
	known = known.clone()
	s := &scope{outer: outer}
	r.with(q, outer, known)
	switch kind {
	case "SelectStmt":
		if q["larg"] != nil { // UNION and the like
			r.query("SelectStmt", q["larg"].(node), outer, known)
			r.query("SelectStmt", q["rarg"].(node), outer, known)
			return
		}
	case "InsertStmt":
		r.insert(q)
	}
	var inner []innerQuery
	if target, ok := q["relation"].(node); ok {
		r.add(s, "RangeVar", target, known, &inner)
	}
	for _, field := range []string{"fromClause", "usingClause"} {
		for _, item := range list(q[field]) {
			kind, fields := unwrap(item)
			r.add(s, kind, fields, known, &inner)
		}
	}
	known.learn(r.catalogue, s, q["whereClause"])
	if kind != "InsertStmt" {
		for _, rel := range s.relations {
			r.keyed(rel, known)
		}
	}
	for _, clause := range list(q["lockingClause"]) {
		_, fields := unwrap(clause)
		r.locked(s, fields, known)
	}
	for _, in := range inner {
		r.query(in.kind, in.query, s, known)
	}
	r.below(q, s, known)
}

// innerQuery is a subquery in FROM.
type innerQuery struct {
	kind  string
	query node
}

// add takes an item of FROM into the scope, with what its ON and USING say.
func (r *reader) add(s *scope, kind string, fields node, known *equalities, inner *[]innerQuery) {
	r.relations++
	rel := relation{id: r.relations, alias: aliasOf(fields)}
	switch kind {
	case "RangeVar":
		if name := text(fields["relname"]); !r.ctes[name] && r.tables[name].columns != nil {
			rel.table = name
		}
	case "RangeSubselect":
		kind, query := unwrap(fields["subquery"])
		*inner = append(*inner, innerQuery{kind, query})
	case "JoinExpr":
		first := len(s.relations)
		for _, side := range []string{"larg", "rarg"} {
			kind, item := unwrap(fields[side])
			r.add(s, kind, item, known, inner)
		}
		known.learn(r.catalogue, s, fields["quals"])
		for _, column := range names(fields["usingClause"]) {
			for _, one := range s.relations[first:] {
				for _, other := range s.relations[first:] {
					known.equate(r.columnOf(one, column), r.columnOf(other, column))
				}
			}
		}
		return
	}
	s.relations = append(s.relations, rel)
}

// columnOf is a relation's column, as equalities know it.
func (r *reader) columnOf(rel relation, column string) string {
	switch {
	case rel.table == "":
		return given
	case r.tables[rel.table].columns[column]:
		return rel.term(column)
	}
	return ""
}

// with reads the queries of WITH, which are outside of the query's own FROM.
func (r *reader) with(q node, outer *scope, known *equalities) {
	clause, _ := q["withClause"].(node)
	for _, cte := range list(clause["ctes"]) {
		_, fields := unwrap(cte)
		kind, query := unwrap(fields["ctequery"])
		if kind != "SelectStmt" {
			r.report("data-modifying CTE", "%s is a %s", text(fields["ctename"]), kind)
		}
		r.ctes[text(fields["ctename"])] = true
		r.query(kind, query, outer, known)
	}
}

// below reads the queries in expressions, and in an INSERT the one that it inserts.
func (r *reader) below(q node, s *scope, known *equalities) {
	for field, part := range q {
		if slices.Contains([]string{"withClause", "larg", "rarg"}, field) {
			continue
		}
		visit(part, func(kind string, fields node) bool {
			switch kind {
			case "RangeSubselect":
				return false // read as a part of FROM
			case "SelectStmt":
				r.query(kind, fields, s, known)
				return false
			}
			return true
		})
	}
}

// keyed demands a tenant and a number of a domain table that is read or changed.
func (r *reader) keyed(rel relation, known *equalities) {
	for _, column := range []string{"tenant_id", "number"} {
		if r.tables[rel.table].columns[column] && !known.isGiven(rel.term(column)) {
			r.report("tenant and number", "%s is met without its %s", rel.table, column)
		}
	}
}

// locked demands of a row's lock that the row is named by a key.
func (r *reader) locked(s *scope, clause node, known *equalities) {
	var of []string
	for _, rel := range list(clause["lockedRels"]) {
		_, fields := unwrap(rel)
		of = append(of, text(fields["relname"]))
	}
	for _, rel := range s.relations {
		if rel.table == "" || len(of) > 0 && !slices.Contains(of, rel.alias) {
			continue
		}
		byKey := slices.ContainsFunc(r.tables[rel.table].keys, func(key []string) bool {
			return !slices.ContainsFunc(key, func(column string) bool { return !known.isGiven(rel.term(column)) })
		})
		if !byKey {
			r.report("row locks by key", "rows of %s are locked without a whole key of theirs", rel.table)
		}
	}
}

// insert demands that a domain table's row is given its tenant and its number.
func (r *reader) insert(q node) {
	target, _ := q["relation"].(node)
	table := r.tables[text(target["relname"])]
	var columns []string
	for _, column := range list(q["cols"]) {
		_, fields := unwrap(column)
		columns = append(columns, text(fields["name"]))
	}
	for _, column := range []string{"tenant_id", "number"} {
		if table.columns[column] && len(columns) > 0 && !slices.Contains(columns, column) {
			r.report("tenant and number", "a row of %s is inserted without its %s", text(target["relname"]), column)
		}
	}
}
