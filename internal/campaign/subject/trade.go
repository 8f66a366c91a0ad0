package subject

// Trade is a restricted trade that an advertiser declares. The zero value is none.
type Trade uint8

// The restricted trades.
const (
	NoTrade Trade = iota
	TradeAlcohol
	TradeGambling
	TradeDating
	TradeHealth
	TradeWeightLoss
	TradeCredit
	TradeCrypto
	TradeWeapons
	TradeTobacco
	TradePolitics
)

// Described describes a restricted trade.
type Described struct {
	Trade Trade  `json:"-"`
	Name  string `json:"id"`
	Title string `json:"title"`
	// Category is the category of the IAB's Content Taxonomy 1.0 in bids of the trade.
	Category string `json:"category"`
	// Adults limits the trade to requests that report an adult reader.
	Adults bool `json:"adults_only"`
}

// Trades are the restricted trades, in the order of the constants.
var Trades = [...]Described{
	{TradeAlcohol, "alcohol", "Alcohol", "IAB8-5", true},
	{TradeGambling, "gambling", "Gambling", "IAB9-7", true},
	{TradeDating, "dating", "Dating", "IAB14-1", true},
	{TradeHealth, "health", "Medicine and health claims", "IAB7", false},
	{TradeWeightLoss, "weight_loss", "Weight loss", "IAB7-44", true},
	{TradeCredit, "credit", "Credit", "IAB13-2", false},
	{TradeCrypto, "crypto", "Crypto-assets", "IAB13-5", false},
	{TradeWeapons, "weapons", "Weapons", "IAB26-1", true},
	{TradeTobacco, "tobacco", "Tobacco", "IAB7-41", true},
	{TradePolitics, "politics", "Politics", "IAB11-4", false},
}

// Of returns the description of t, which must be in the list.
func (t Trade) Of() *Described { return &Trades[t-1] }

// ParseTrade returns the trade of a name; ok is false for a name outside the list.
func ParseTrade(name string) (t Trade, ok bool) {
	for i := range Trades {
		if Trades[i].Name == name {
			return Trades[i].Trade, true
		}
	}
	return NoTrade, false
}

// TradeNames returns the names of all trades.
func TradeNames() (names []string) {
	for i := range Trades {
		names = append(names, Trades[i].Name)
	}
	return names
}

// TradeSet is a set of trades.
type TradeSet uint16

// Has reports whether t is in s.
func (s TradeSet) Has(t Trade) bool { return s>>t&1 != 0 }

// Names returns the names of the members, in the order of the list.
func (s TradeSet) Names() []string {
	names := make([]string, 0, len(Trades))
	for i := range Trades {
		if s.Has(Trades[i].Trade) {
			names = append(names, Trades[i].Name)
		}
	}
	return names
}

// TradesOf returns the set of names; bad is the first name outside the list, or empty.
func TradesOf(names []string) (s TradeSet, bad string) {
	for _, name := range names {
		t, ok := ParseTrade(name)
		if !ok {
			return 0, name
		}
		s |= 1 << t
	}
	return s, ""
}
