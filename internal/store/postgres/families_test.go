package postgres

import (
	"testing"

	"adnet/internal/ledger"
	"adnet/internal/store/storetest"
)

func TestFamiliesConformance(t *testing.T) {
	storetest.RunFamilies(t, func(t *testing.T) (storetest.Families, func(ledger.Spend) error) {
		s := openStore(t)
		return storetest.Families{Rulings: s.Families, Persons: personsOf(s)}, func(spend ledger.Spend) error {
			return inside{s}.Spend(t.Context(), spend)
		}
	})
}
