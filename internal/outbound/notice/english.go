package notice

// campaignPath is the console's page of a campaign.
const campaignPath = "/console/campaigns/{campaign}"

var english = frame{
	lang: "en", hello: "This happened in your account:", unnamed: "A campaign without a name",
	more: "%d more are in the console.", end: "You get this mail because your account asks for it.",
	endAct: "Stop mails of this kind", settings: "Choose your mails",
	decisions: map[string]string{
		"release": "the held Credits were given back", "clawback": "the held Credits were taken back",
	},
	kinds: map[string]words{
		"campaign.approved": {
			"A campaign was approved", "“{name}” was approved and can deliver.", "Open the campaign", campaignPath,
		},
		"campaign.rejected": {
			"A campaign was rejected", "“{name}” was rejected. {notes}",
			"Read the reason, change the ad or appeal", campaignPath,
		},
		"campaign.ended": {
			"A campaign has ended", "“{name}” was archived and shows no more ads.", "See its results", campaignPath,
		},
		"campaign.budget_spent": {
			"A campaign has spent its budget", "“{name}” has spent its total budget and shows no more ads.",
			"Raise the budget or archive the campaign", campaignPath,
		},
		"campaign.first_ad": {
			"A campaign has shown its first ad", "“{name}” delivers: its first ad was charged.",
			"See its results", campaignPath,
		},
		"balance.low": {
			"Your balance lasts for less than three days",
			"Your balance is {balance} USD. By the mean spend of the last 7 days it lasts for {days} whole days. " +
				"Your campaigns stop when it is spent.", "Pay in", "/console/billing",
		},
		"key.unused": {
			"Your keys have shown no ad for 14 days", "No ad was shown with your API keys since {since} (UTC).",
			"Check the integration", "/console/integrate",
		},
		"credits.released": {
			"Credits were released", "{credits} Credits were released to you on {date} (UTC).",
			"See your Credits", "/console/publisher",
		},
		"quarantine.ended": {
			"The review of your traffic has ended", "A person has decided the case about your traffic: {decision}.",
			"Read the decision", "/console/decisions",
		},
		"report.weekly": {
			"Your week", "Until {date} (UTC), in 7 days: your campaigns spent {spent} USD; your placements showed " +
				"{shown} ads with {clicks} clicks.", "Open the console", "/console",
		},
		"review.waiting": {
			"Campaigns wait for review", "{count} campaigns have waited for a review for more than a day.",
			"Open the review queue", "/console/review",
		},
		"reports.waiting": {
			"Reports wait for a decision", "Reports of {count} campaigns have waited for more than a day.",
			"Open the reports", "/console/reports",
		},
		"appeals.waiting": {
			"Appeals wait for an answer", "{count} appeals have waited for more than a day.",
			"Open the appeals", "/console/appeals",
		},
	},
}
