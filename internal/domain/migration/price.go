package migration

// Prices are what an object store charges, in US dollars.
type Prices struct {
	ClassA  float64 `json:"class_a_per_million"`  // requests that change something: PUT
	ClassB  float64 `json:"class_b_per_million"`  // requests that read: GET
	Storage float64 `json:"storage_per_gb_month"` // a GB is 10^9 bytes
}

// DefaultPrices are R2's list prices of its standard storage, without what is
// included free of charge (https://developers.cloudflare.com/r2/pricing/, as of
// November 2026). Egress and deletions cost nothing.
var DefaultPrices = Prices{ClassA: 4.50, ClassB: 0.36, Storage: 0.015}

// Price is what the requests of a migration cost, and then the storage of what
// they made.
type Price struct {
	LeastOnce    float64 `json:"least_once"` // US dollars, for requests
	MostOnce     float64 `json:"most_once"`
	StorageMonth float64 `json:"storage_a_month"` // US dollars
}

func (p Prices) of(r Requests, g Growth) Price {
	once := func(puts, gets int64) float64 { return (float64(puts)*p.ClassA + float64(gets)*p.ClassB) / 1e6 }
	return Price{
		LeastOnce: once(r.LeastPuts, r.LeastGets), MostOnce: once(r.MostPuts, r.MostGets),
		StorageMonth: float64(g.StoreBytes) / 1e9 * p.Storage,
	}
}
