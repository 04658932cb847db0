package migration

// The way back goes by item key. It has no frontier: from the switch on nothing is
// written into the store, and what is there only shrinks.
const (
	sqlLeftInStore = `
SELECT EXISTS (SELECT FROM sections_in_store s
                WHERE s.tenant_id = $1 AND s.number = $2 AND s.collection_id = $3)`
	sqlForgetRehydrated = `
DELETE FROM migration_deferred d
 WHERE d.tenant_id = $1 AND d.number = $2 AND d.collection_id = $3
   AND NOT EXISTS (SELECT FROM sections_in_store s
                    WHERE s.tenant_id = d.tenant_id AND s.number = d.number AND s.collection_id = d.collection_id
                      AND s.item_key = d.item_key AND s.section = d.section)`
)
