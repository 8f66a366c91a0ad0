package offer

import (
	"fmt"
	"maps"
	"strings"

	"adnet/internal/campaign/locale"
	"adnet/internal/campaign/subject"
)

// TradeConfig holds the settings of restricted trades.
type TradeConfig struct {
	Trades    []string `name:"trades" env:"ADNET_TRADES" placeholder:"TRADE[@REGION]=RULE" help:"Where restricted trades run: trade=off, adults or all; for a country or a part of it trade@REGION=rule. If several apply, the last counts. Default: adults for alcohol, gambling, dating, weight_loss, weapons and tobacco, else all. You are responsible for the law of each place."`
	Political string   `name:"political" env:"ADNET_POLITICAL" enum:"off,on" default:"off" help:"Whether campaigns of the trade politics run: off or on. Read Regulation (EU) 2024/900 first."`
}

// The rules of a trade.
const (
	tradeOff    = "off"
	tradeAdults = "adults" // only if the request states that its reader is an adult
	tradeAll    = "all"
)

// openTrades holds the trades that may run in a region.
type openTrades struct{ adults, all subject.TradeSet }

// set sets the rule of a trade.
func (o *openTrades) set(trade subject.Trade, rule string) {
	bit := subject.TradeSet(1) << trade
	o.adults, o.all = o.adults&^bit, o.all&^bit
	switch rule {
	case tradeAll:
		o.adults, o.all = o.adults|bit, o.all|bit
	case tradeAdults:
		o.adults |= bit
	}
}

// trades holds the rules by region; "" is everywhere else.
type trades map[string]openTrades

// tradeEntry is one entry of ADNET_TRADES.
type tradeEntry struct {
	trade  subject.Trade
	region string // empty for everywhere
	rule   string
}

// trades parses the settings. Errors: an entry with an invalid form.
func (c *TradeConfig) trades() (trades, error) {
	var entries []tradeEntry
	for i := range subject.Trades {
		d, rule := &subject.Trades[i], tradeAll
		switch {
		case d.Trade == subject.TradePolitics && c.Political != "on":
			rule = tradeOff
		case d.Adults:
			rule = tradeAdults
		}
		entries = append(entries, tradeEntry{trade: d.Trade, rule: rule})
	}
	for _, text := range c.Trades {
		entry, err := readTrade(text)
		if err != nil {
			return nil, err
		}
		if entry.trade == subject.TradePolitics && entry.rule != tradeOff && c.Political != "on" {
			return nil, fmt.Errorf("ADNET_TRADES: %q needs ADNET_POLITICAL=on", text)
		}
		entries = append(entries, entry)
	}
	rules := trades{"": {}}
	for _, entry := range entries {
		rules[entry.region] = openTrades{}
	}
	for region := range maps.Keys(rules) {
		var open openTrades
		for _, entry := range entries {
			if entry.region == "" || entry.region == region || strings.HasPrefix(region, entry.region+"-") {
				open.set(entry.trade, entry.rule)
			}
		}
		rules[region] = open
	}
	return rules, nil
}

func readTrade(text string) (entry tradeEntry, err error) {
	name, rule, _ := strings.Cut(strings.TrimSpace(text), "=")
	name, region, regional := strings.Cut(name, "@")
	trade, known := subject.ParseTrade(name)
	switch {
	case !known:
		return entry, fmt.Errorf(
			"ADNET_TRADES: %q is not of the form trade=rule or trade@REGION=rule with a trade of %s", text,
			strings.Join(subject.TradeNames(), ", "),
		)
	case rule != tradeOff && rule != tradeAdults && rule != tradeAll:
		return entry, fmt.Errorf("ADNET_TRADES: the rule of %q must be off, adults or all", text)
	}
	code, current := locale.Region(region)
	entry = tradeEntry{trade: trade, region: code, rule: rule}
	if regional && !current {
		return entry, fmt.Errorf("ADNET_TRADES: the region of %q must be a code of ISO 3166 such as US or US-CA", text)
	}
	return entry, nil
}

// Check returns an error for settings that cannot be parsed.
func (c *TradeConfig) Check() error {
	_, err := c.trades()
	return err
}

// open returns the restricted trades that may run for a reader of an age in a region; US-CA falls
// under US. A reader not known to be an adult gets no trades for adults, and a child or a teenager
// gets none at all.
func (t trades) open(age Age, region string) subject.TradeSet {
	if age == AgeChild || age == AgeTeen {
		return 0
	}
	open := t.of(region)
	if age == AgeAdult {
		return open.adults
	}
	return open.all
}

func (t trades) of(region string) openTrades {
	if len(t) == 1 || region == "" {
		return t[""]
	}
	region, _ = locale.Region(region)
	country, _, _ := strings.Cut(region, "-")
	if open, ok := t[region]; ok {
		return open
	}
	if open, ok := t[country]; ok {
		return open
	}
	return t[""]
}
