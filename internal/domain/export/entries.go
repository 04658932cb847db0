package export

import (
	"context"
	"encoding/json"
	"strconv"

	"github.com/jackc/pgx/v5"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/tenancy"
)

// readEntries reads entries of a world's journal, each as the journal itself gives it,
// so that the chain can be verified. Behind a world's last entry it goes on with the
// next world. A retired world's journal is nobody's to read any more.
func (s *Service) readEntries(ctx context.Context, tenant domain.TenantID, at Position) (keys [][]string, values [][]byte, err error) {
	world, after := at.key()[0], at.key()[1]
	for from := world; ; from = world + "\x01" { // behind it: no world's id has such a letter
		next, err := s.nextWorld(ctx, tenant, at, from)
		if err != nil || next == "" {
			return nil, nil, err
		}
		if next != world {
			world, after = next, "0"
		}
		position, err := strconv.ParseInt(after, 10, 64)
		if err != nil {
			return nil, nil, err
		}
		page, err := s.journals.Entries(ctx, tenancy.Scope{Tenant: tenant}, world, max(position, 0), pageLines)
		if domain.CodeOf(err) == "world_not_found" {
			continue // it was retired meanwhile
		}
		if err != nil {
			return nil, nil, err
		}
		for i := range page.Entries {
			e := &page.Entries[i]
			name, err := json.Marshal(world)
			if err != nil {
				return nil, nil, err
			}
			value := append([]byte(`{"world_id":`), name...)
			value = append(e.AppendJSON(append(value, `,"entry":`...)), '}')
			keys, values = append(keys, []string{world, strconv.FormatInt(e.Position, 10)}), append(values, value)
		}
		if len(keys) > 0 {
			return keys, values, nil
		}
	}
}

// nextWorld is the first world from one on; "" when none follows.
func (s *Service) nextWorld(ctx context.Context, tenant domain.TenantID, at Position, from string) (world string, err error) {
	err = s.inNumber(ctx, tenant, at, func(tx *tenancy.Tx, number int16) {
		tx.Queue(sqlNextWorld, number, from).Query(func(rows pgx.Rows) error {
			worlds, err := pgx.CollectRows(rows, pgx.RowTo[string])
			if len(worlds) > 0 {
				world = worlds[0]
			}
			return err
		})
	})
	return world, err
}
