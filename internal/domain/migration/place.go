package migration

// bodiesPrefix is what every body's key begins with.
const bodiesPrefix = "tenants/"

// PlaceOf is where a process keeps bodies, by its object store's endpoint and
// bucket: zero without them. All processes of an installation name the same place.
func PlaceOf(endpoint, bucket string) StorePlace {
	if endpoint == "" {
		return StorePlace{}
	}
	return StorePlace{Endpoint: endpoint, Bucket: bucket, Prefix: bodiesPrefix}
}
