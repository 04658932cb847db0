package migration

import (
	"cmp"
	"context"
	"slices"

	"github.com/holdfast-dev/holdfast/internal/domain"
)

// PolicyRule is a lifecycle rule of the bucket, as it was read.
type PolicyRule struct {
	ID         string   `json:"id"`
	Enabled    bool     `json:"enabled"`
	Deletes    bool     `json:"deletes"`
	Prefix     string   `json:"prefix"`
	Actions    []string `json:"actions"`
	Conditions []string `json:"conditions"`
}

// policy reads the bucket's live rules, in one order, and refuses them when bodies
// wouldn't be safe there. The way back is out of the bucket, so for it no rule is a
// reason to wait: it is written down and no more.
//
// Errors: those of record.Service.StoreRules.
func (s *Service) policy(ctx context.Context, kind Kind) ([]PolicyRule, error) {
	rules, err := s.records.StoreRules(ctx)
	if err != nil && (kind != Rehydrate || domain.CodeOf(err) != "lifecycle_overlaps") {
		return nil, err
	}
	policy := make([]PolicyRule, 0, len(rules))
	for _, r := range rules {
		policy = append(policy, PolicyRule{r.ID, r.Enabled, r.Deletes, r.Prefix, orEmpty(r.Actions), orEmpty(r.Conditions)})
	}
	slices.SortFunc(policy, func(a, b PolicyRule) int {
		return cmp.Or(cmp.Compare(a.ID, b.ID), cmp.Compare(a.Prefix, b.Prefix), slices.Compare(a.Actions, b.Actions),
			slices.Compare(a.Conditions, b.Conditions))
	})
	return policy, nil
}

// orEmpty makes a nil list one that JSON shows as [].
func orEmpty(list []string) []string {
	if list == nil {
		return []string{}
	}
	return list
}
