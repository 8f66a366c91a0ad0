package backends

import (
	"errors"
	"fmt"

	"adnet/analytics/clickhouse"
	"adnet/analytics/rollup"
	"adnet/analytics/stats"
	"adnet/internal/kafka"
	"adnet/internal/ledger/reserve"
	"adnet/internal/money"
	"adnet/internal/store/postgres"
	"adnet/internal/store/redis"
)

// Money holds the settings of funding. Ingress and settlement must use the same values.
type Money struct {
	Prepaid     string `name:"prepaid" env:"ADNET_PREPAID" default:"${prepaid}" enum:"off,required" help:"required: cash campaigns spend deposited balance only. off: they spend up to their budget and the account owes."`
	CreditValue string `name:"credit-value-usd" env:"ADNET_CREDIT_VALUE_USD" default:"0.005" help:"Total budget in USD that one Credit pays for: what an impression earns. Credits are released only as far as charges reach this value."`
}

// Required reports whether cash campaigns spend deposited balance only.
func (c Money) Required() bool { return c.Prepaid == "required" }

func (c Money) rooms() reserve.RoomOptions { return reserve.RoomOptions{Prepaid: c.Required()} }

// Value returns the total budget that one Credit pays for.
func (c Money) Value() (money.Micros, error) {
	value, err := money.Parse(c.CreditValue)
	if err == nil && value <= 0 {
		err = errors.New("must be above 0")
	}
	if err != nil {
		return 0, fmt.Errorf("ADNET_CREDIT_VALUE_USD: %w", err)
	}
	return value, nil
}

// Servers holds the addresses of the real servers.
type Servers struct {
	Postgres   postgres.Config   `embed:""`
	ClickHouse clickhouse.Config `embed:""`
	Redis      redis.Config      `embed:""`
	Kafka      kafka.Config      `embed:""`
	Stats      stats.Config      `embed:""`
	Rollup     rollup.Config     `embed:""`
}
