package notice

var german = frame{
	lang: "de", hello: "Das ist in Ihrem Konto geschehen:", unnamed: "Eine Kampagne ohne Namen",
	more: "%d weitere stehen in der Konsole.", end: "Sie erhalten diese E-Mail, weil Ihr Konto sie wünscht.",
	endAct: "Keine E-Mails dieser Art mehr", settings: "E-Mails auswählen",
	decisions: map[string]string{
		"release":  "Die zurückgehaltenen Credits wurden freigegeben",
		"clawback": "Die zurückgehaltenen Credits wurden eingezogen",
	},
	kinds: map[string]words{
		"campaign.approved": {
			"Eine Kampagne wurde freigegeben", "„{name}“ wurde freigegeben und kann ausgeliefert werden.",
			"Kampagne öffnen", campaignPath,
		},
		"campaign.rejected": {
			"Eine Kampagne wurde abgelehnt", "„{name}“ wurde abgelehnt. {notes}",
			"Begründung lesen, Anzeige ändern oder Einspruch erheben", campaignPath,
		},
		"campaign.ended": {
			"Eine Kampagne ist beendet", "„{name}“ wurde archiviert und zeigt keine Anzeigen mehr.",
			"Ergebnisse ansehen", campaignPath,
		},
		"campaign.budget_spent": {
			"Eine Kampagne hat ihr Budget ausgegeben",
			"„{name}“ hat das Gesamtbudget ausgegeben und zeigt keine Anzeigen mehr.",
			"Budget erhöhen oder Kampagne archivieren", campaignPath,
		},
		"campaign.first_ad": {
			"Eine Kampagne hat ihre erste Anzeige gezeigt",
			"„{name}“ wird ausgeliefert: Die erste Anzeige wurde berechnet.", "Ergebnisse ansehen", campaignPath,
		},
		"balance.low": {
			"Ihr Guthaben reicht für weniger als drei Tage",
			"Ihr Guthaben beträgt {balance} USD. Nach den mittleren Ausgaben der letzten 7 Tage reicht es für {days} " +
				"ganze Tage. Ist es ausgegeben, halten Ihre Kampagnen an.", "Einzahlen", "/console/billing",
		},
		"key.unused": {
			"Ihre Schlüssel haben seit 14 Tagen keine Anzeige gezeigt",
			"Mit Ihren API-Schlüsseln wurde seit dem {since} (UTC) keine Anzeige gezeigt.",
			"Einbindung prüfen", "/console/integrate",
		},
		"credits.released": {
			"Credits wurden freigegeben", "Am {date} (UTC) wurden {credits} Credits für Sie freigegeben.",
			"Credits ansehen", "/console/publisher",
		},
		"quarantine.ended": {
			"Die Prüfung Ihres Traffics ist beendet",
			"Ein Mensch hat über den Fall zu Ihrem Traffic entschieden. {decision}.",
			"Entscheidung lesen", "/console/decisions",
		},
		"report.weekly": {
			"Ihre Woche", "In 7 Tagen bis zum {date} (UTC): Ihre Kampagnen gaben {spent} USD aus; Ihre Platzierungen " +
				"zeigten {shown} Anzeigen mit {clicks} Klicks.", "Konsole öffnen", "/console",
		},
		"review.waiting": {
			"Kampagnen warten auf Prüfung", "{count} Kampagnen warten seit mehr als einem Tag auf eine Prüfung.",
			"Prüfung öffnen", "/console/review",
		},
		"reports.waiting": {
			"Meldungen warten auf eine Entscheidung",
			"Meldungen zu {count} Kampagnen warten seit mehr als einem Tag.", "Meldungen öffnen", "/console/reports",
		},
		"appeals.waiting": {
			"Einsprüche warten auf eine Antwort", "{count} Einsprüche warten seit mehr als einem Tag.",
			"Einsprüche öffnen", "/console/appeals",
		},
	},
}
