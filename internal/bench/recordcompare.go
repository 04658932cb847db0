package bench

import (
	"context"
	"fmt"
	"time"
)

const (
	oneByOne = "PUT /v1/collections/{collection}/records/{key}, new keys, one body of %s, %d callers, %s"
	oneBody  = "GET …/sections/{section}/body, %s, %d callers, %s"
	inStore  = "format 2"
	inTables = "format 1"
)

// small compares small bodies in the object store with the same store alone.
func (r *records) small() []Comparison {
	writes := func() []Reference {
		return []Reference{
			{"bare PUT and GET", fmt.Sprintf("the AWS SDK, a create-only PUT with its SHA-256 and a GET that is verified, %d callers", publishing), 0.8, r.store.write(publishing, bodySize)},
			{"adapter", "the same by Holdfast's own adapter, in the load's process", 0, r.store.ensure(publishing, bodySize)},
		}
	}
	return []Comparison{
		{
			What:       "publish 8 KiB",
			Product:    fmt.Sprintf(oneByOne, "8 KiB", publishing, inStore) + ", as JSON",
			product:    r.publish(r.inObjects.into, publishing, bodySize, asJSON),
			References: writes(),
		},
		{
			What:       "publish 8 KiB in parts",
			Product:    "the same as multipart/form-data",
			product:    r.publish(r.inObjects.into, publishing, bodySize, asParts),
			References: writes(),
		},
		{
			What:       "publish by fifties",
			Product:    fmt.Sprintf("records of the same by POST …/publish, %d a request, %d callers", manySize, manyCallers),
			product:    r.publishMany(r.inObjects.into, manyCallers, manySize),
			References: writes()[:1],
		},
		{
			What:    "read 8 KiB",
			Product: fmt.Sprintf(oneBody, "8 KiB", readers, inStore),
			product: r.readBodies(r.inObjects.from, r.inObjects.keys, readers, bodySize),
			References: []Reference{
				{"bare GET", fmt.Sprintf("the AWS SDK, a GET that isn't verified, %d callers", readers), 0.8, r.store.read(r.objects, readers, bodySize)},
				{"adapter", "the same by Holdfast's own adapter, which verifies", 0, r.store.fetch(r.objects, readers, bodySize)},
			},
		},
	}
}

// inSQL compares small bodies in the database with the same database alone.
func (r *records) inSQL() []Comparison {
	insert := func() []Reference {
		return against("pgbench insert", fmt.Sprintf("pgbench, one insert of a row with 8 KiB of bytea a transaction, %d clients", publishing), 0,
			r.pgbench(pgbenchPublish(), publishing))
	}
	return []Comparison{
		{
			What:       "publish 8 KiB to SQL",
			Product:    fmt.Sprintf(oneByOne, "8 KiB", publishing, inTables) + ", as JSON",
			product:    r.publish(r.inDatabase.into, publishing, bodySize, asJSON),
			References: insert(),
		},
		{
			What:       "publish by fifties to SQL",
			Product:    fmt.Sprintf("records of the same by POST …/publish, %d a request, %d callers", manySize, manyCallers),
			product:    r.publishMany(r.inDatabase.into, manyCallers, manySize),
			References: insert(),
		},
		{
			What:    "read 8 KiB from SQL",
			Product: fmt.Sprintf(oneBody, "8 KiB", readers, inTables),
			product: r.readBodies(r.inDatabase.from, r.inDatabase.keys, readers, bodySize),
			References: against("bare read", fmt.Sprintf("a bare Echo handler that reads such a row by primary key, %d callers", readers), 0,
				r.bare.readAny(r.rows, readers, bodySize)),
		},
	}
}

// exports compares the pages of an export with reads of as many bodies.
func (r *records) exports() []Comparison {
	pages := fmt.Sprintf("records by GET …/export, %d a page, %d callers, ", exportSize, exporters)
	return []Comparison{
		{
			What:    "export",
			Product: pages + "without bodies",
			product: r.export(r.inObjects.from, len(r.inObjects.keys), ""),
		},
		{
			What:       "export with bodies",
			Product:    pages + "with bodies of 8 KiB, " + inStore,
			product:    r.export(r.inObjects.from, len(r.inObjects.keys), "&include=bodies"),
			References: against("bare GET", fmt.Sprintf("the AWS SDK, a GET that isn't verified, %d callers", readers), 0, r.store.read(r.objects, readers, bodySize)),
		},
		{
			What:       "export with bodies from SQL",
			Product:    pages + "with bodies of 8 KiB, " + inTables,
			product:    r.export(r.inDatabase.from, len(r.inDatabase.keys), "&include=bodies"),
			References: against("bare read", "the bare handler, one body a request", 0, r.bare.readAny(r.rows, readers, bodySize)),
		},
	}
}

// updates compares changes of records with updates of rows, and those in one
// collection with those in several.
func (r *records) updates() []Comparison {
	update := func(row, what string) Reference {
		return Reference{"pgbench update", fmt.Sprintf("pgbench, one update of a row with 8 KiB of bytea a transaction, %s, %d clients", what, updating), 0,
			r.pgbench(pgbenchUpdate(row), updating)}
	}
	return []Comparison{
		{
			What:       "update one record",
			Product:    fmt.Sprintf("PUT with If-Match and a body of 8 KiB until it is made, %d callers on one record, %s", updating, inTables),
			product:    r.updateOne(r.several[0]),
			References: []Reference{update(hotRow, "the same row")},
		},
		{
			What:    "update own records",
			Product: fmt.Sprintf("PUT with If-Match and a body of 8 KiB, %d callers, each on its own record of one collection, %s", updating, inTables),
			product: r.update(r.several[:1]),
			References: []Reference{
				update(ownRow, "each its own"),
				{"several collections", fmt.Sprintf("the same, spread over %d collections", len(r.several)), 0, r.update(r.several)},
			},
		},
	}
}

// large compares large bodies, and counts MiB.
func (r *records) large() []Comparison {
	const size = "2 MiB"
	write := func() []Reference {
		return against("bare PUT and GET", fmt.Sprintf("the AWS SDK, a create-only PUT with its SHA-256 and a GET that is verified, %d callers", largeCallers), 0,
			inMiB(r.store.emptied(r.store.prefix+"large/", r.store.below("large/").write(largeCallers, largeSize))))
	}
	publish := func(as form) round {
		return inMiB(r.store.emptied(r.stack.objects(r.big.into), r.publish(r.big.into, largeCallers, largeSize, as)))
	}
	return []Comparison{
		{
			What:       "publish 2 MiB",
			Product:    "MiB by " + fmt.Sprintf(oneByOne, size, largeCallers, inStore) + ", as multipart/form-data",
			product:    publish(asParts),
			References: write(),
		},
		{
			What:       "publish 2 MiB as JSON",
			Product:    "the same as JSON",
			product:    publish(asJSON),
			References: write(),
		},
		{
			What:    "read 2 MiB",
			Product: "MiB by " + fmt.Sprintf(oneBody, size, largeCallers, inStore),
			product: inMiB(r.readBodies(r.big.from, r.big.keys, largeCallers, largeSize)),
			References: against("bare GET", fmt.Sprintf("the AWS SDK, a GET that isn't verified, %d callers", largeCallers), 0,
				inMiB(r.store.read(r.bigObjects, largeCallers, largeSize))),
		},
	}
}

// inMiB counts the MiB of large bodies.
func inMiB(r round) round {
	return func(ctx context.Context, length time.Duration) (Result, error) {
		result, err := r(ctx, length)
		result.Operations *= largeSize >> 20
		return result, err
	}
}
