package architecture

import (
	"fmt"
	"maps"
)

// equalities is what a query's conditions make equal: columns, by relation, with
// each other and with what the statement is given.
type equalities struct {
	parent map[string]string
}

// given is everything that a statement is given: its arguments, constants, and what
// is no domain table's.
const given = "given"

func newEqualities() *equalities { return &equalities{parent: map[string]string{}} }

// clone is for a query inside of this one, whose conditions hold only there.
func (e *equalities) clone() *equalities { return &equalities{maps.Clone(e.parent)} }

func (e *equalities) root(term string) string {
	for e.parent[term] != "" {
		term = e.parent[term]
	}
	return term
}

func (e *equalities) equate(a, b string) {
	if a, b = e.root(a), e.root(b); a != "" && b != "" && a != b {
		e.parent[a] = b
	}
}

func (e *equalities) isGiven(term string) bool { return e.root(term) == e.root(given) }

// relation is one of a query's FROM, or what it changes.
type relation struct {
	id    int
	alias string
	table string // of the domain; "" for everything else
}

func (r relation) term(column string) string { return fmt.Sprintf("%d.%s", r.id, column) }

// scope is a query's relations, and those of the queries around it.
type scope struct {
	relations []relation
	outer     *scope
}

// find gives the relation of a column, nearest first.
func (s *scope) find(c catalogue, qualifier, column string) (relation, bool) {
	for ; s != nil; s = s.outer {
		for _, r := range s.relations {
			if qualifier != "" && r.alias == qualifier || qualifier == "" && c.tables[r.table].columns[column] {
				return r, true
			}
		}
	}
	return relation{}, false
}

// term is what stands for an expression: a domain column, or given, or "" for what
// is computed from domain columns.
func (s *scope) term(c catalogue, expr any) string {
	switch kind, fields := unwrap(expr); kind {
	case "ColumnRef":
		parts := names(fields["fields"])
		qualifier := ""
		if len(parts) > 1 {
			qualifier = parts[len(parts)-2]
		}
		if r, ok := s.find(c, qualifier, parts[len(parts)-1]); ok && r.table != "" {
			return r.term(parts[len(parts)-1])
		}
		return given
	case "TypeCast":
		return s.term(c, fields["arg"])
	}
	if s.readsDomain(c, expr) {
		return ""
	}
	return given
}

// readsDomain tells whether an expression has a column of a domain table in it.
func (s *scope) readsDomain(c catalogue, expr any) (found bool) {
	visit(expr, func(kind string, fields node) bool {
		if kind == "ColumnRef" {
			found = found || s.term(c, node{kind: fields}) != given
		}
		return kind != "SubLink" // a query of its own, which is held to the rules itself
	})
	return found
}

// learn adds what a condition makes equal. Only what holds in every row counts, so
// nothing below an OR or a NOT.
func (e *equalities) learn(c catalogue, s *scope, condition any) {
	kind, fields := unwrap(condition)
	switch kind {
	case "BoolExpr":
		if fields["boolop"] == "AND_EXPR" {
			for _, part := range list(fields["args"]) {
				e.learn(c, s, part)
			}
		}
	case "A_Expr":
		left, right := fields["lexpr"], fields["rexpr"]
		if fields["kind"] == "AEXPR_BETWEEN" && isNumber(left) && !s.readsDomain(c, right) {
			e.learnGiven(c, s, left) // some numbers of a database at once
		}
		if len(names(fields["name"])) != 1 || names(fields["name"])[0] != "=" {
			return
		}
		switch fields["kind"] {
		case "AEXPR_OP":
			e.learnPairs(c, s, left, right)
		case "AEXPR_OP_ANY", "AEXPR_IN":
			if !s.readsDomain(c, right) {
				e.learnGiven(c, s, left)
			}
		}
	case "SubLink": // x IN (SELECT …), where the query is held to the rules itself
		if fields["subLinkType"] == "ANY_SUBLINK" {
			e.learnGiven(c, s, fields["testexpr"])
		}
	}
}

func isNumber(expr any) bool {
	_, fields := unwrap(expr)
	parts := names(fields["fields"])
	return len(parts) > 0 && parts[len(parts)-1] == "number"
}

// learnPairs takes rows apart.
func (e *equalities) learnPairs(c catalogue, s *scope, left, right any) {
	leftKind, leftRow := unwrap(left)
	rightKind, rightRow := unwrap(right)
	if leftKind != "RowExpr" || rightKind != "RowExpr" {
		e.equate(s.term(c, left), s.term(c, right))
		return
	}
	lefts, rights := list(leftRow["args"]), list(rightRow["args"])
	for i := range min(len(lefts), len(rights)) {
		e.equate(s.term(c, lefts[i]), s.term(c, rights[i]))
	}
}

func (e *equalities) learnGiven(c catalogue, s *scope, expr any) {
	if kind, row := unwrap(expr); kind == "RowExpr" {
		for _, element := range list(row["args"]) {
			e.equate(s.term(c, element), given)
		}
		return
	}
	e.equate(s.term(c, expr), given)
}
