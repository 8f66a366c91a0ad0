package lexicon

import (
	"strings"
	"sync"
	"unicode/utf8"

	"adnet/auction/words"
)

// Special says that a term tells about health, sex life, origin, opinion, belief, union, genes or
// body measures of a person (GDPR Art. 9). Such a term serves the auction it came with and is
// neither recorded nor learnt about.
func Special(term string) bool { return special()[term] }

// specialOf are the terms of a table that are special.
func specialOf(n *names) idSet {
	set := newIDSet(n.len())
	for term := range special() {
		if id := n.id(term); id != None {
			set.add(id)
		}
	}
	return set
}

// special holds the terms that the analyzer makes of [specialWords].
var special = sync.OnceValue(func() map[string]bool {
	set := map[string]bool{}
	var r words.Reader
	for word := range strings.FieldsSeq(specialWords) {
		r.Reset()
		r.ReadStated(word, words.One)
		for _, term := range r.Terms() {
			// A single letter of a script without blanks says too little to be special.
			if term.Kind != words.Letters || utf8.RuneCountInString(term.Text) > 1 {
				set[term.Text] = true
			}
		}
	}
	return set
})

// specialWords are written as people say them; the analyzer cuts their endings.
const specialWords = `
abortion addiction addict adhd aids alcoholic alcoholism allergy alzheimer alzheimers amputation anaemia
anemia anorexia antidepressant antidepressants anxiety arthritis asthma autism autistic bipolar blindness
bulimia cancer carcinoma chemotherapy chlamydia cirrhosis colitis condom conception contraception
contraceptive covid crohn deaf deafness dementia depressed depression diabetes diabetic diagnosed diagnosis
dialysis disability disabled disease disorder dyslexia eczema endometriosis epilepsy epileptic erectile
fertility fibromyalgia gonorrhea hepatitis herpes hiv hormone hospice hypertension illness impotence
incontinence infertile infertility insulin ivf leukemia lupus lymphoma medication melanoma menopause
mental migraine miscarriage narcolepsy neurosis obesity obese oncology opioid overdose paranoia parkinson
parkinsons patient pregnancy pregnant prozac psoriasis psychiatric psychiatrist psychiatry psychosis
psychotherapy ptsd rehab schizophrenia sclerosis sick sickness sober std stroke suicidal suicide surgery
symptom symptoms syphilis therapist therapy trauma tumor tumour ulcer vaccination vaccine viagra wheelchair
asexual bisexual cisgender crossdresser erotic escort fetish gay gays heterosexual homosexual homosexuality
intersex lesbian lesbians lgbt lgbtq nonbinary orgasm pansexual porn pornography queer sex sexual sexuality
transgender transsexual transvestite
aboriginal antisemitism apartheid asylum ethnic ethnicity hispanic immigrant immigrants latina latino
migrant migrants nazi race racial racism racist refugee refugees roma romani undocumented
agnostic anglican atheism atheist baptist bible bishop buddhism buddhist catholic catholicism christian
christianity church clergy communion druze evangelical faith gospel halal hindu hinduism imam islam
islamic jehovah jesus jew jewish jews judaism kosher lutheran methodist mormon mosque muslim muslims orthodox
pagan pastor pentecostal pope prayer pray priest protestant quaker quran koran rabbi ramadan religion religious
salafi scientology sermon shia sikh sikhism spiritual sunni synagogue talmud temple torah zionism zionist
anarchist ballot communism communist conservative conservatives democrat democrats election elections
fascism fascist feminism feminist ideology leftist liberal liberals libertarian marxist partisan political
politics populist protest referendum republican republicans socialism socialist vote voter voters voting
labour picket strike strikes striker union unionized unions
biometric biometrics chromosome dna fingerprint fingerprints genes genetic genetics genome genomic
ancestry hereditary iris paternity retina
abtreibung behinderung bisexuell christ depressiv depressionen erkrankung ethnisch evangelisch flüchtling
gewerkschaft gewerkschaften glaube homosexuell jude jüdisch katholisch kirche krank krankheit krebs lesbisch
moschee moslem muslimisch partei politik politisch psychotherapie rasse religiös schwanger schwangerschaft
schwul selbstmord sexuell sucht therapie wahl wahlen zuckerkrankheit diagnose gebet gottesdienst
avortement cancers chrétien croyance dépression diabète église élection enceinte grossesse handicap
homosexuel islamique juif lesbienne maladie mosquée musulman politique prière psychiatre race religieux
santé sexuel sida suicide syndicat syndicats vote
aborto cáncer católico cristiano depresión diabético discapacidad elecciones embarazada embarazo enfermedad
homosexual iglesia judío lesbiana mezquita musulmán política psiquiatra religión sexo sida sindicato
sindicatos suicidio votar
cancro cattolico chiesa depressione diabete elezioni gravidanza incinta malattia musulmano omosessuale
politica psichiatra religione sesso sindacato sindacati voto
câncer deficiência depressão doença eleição gravidez grávida igreja muçulmano religião sexualidade
kanker zwanger zwangerschap ziekte vakbond kerk moskee homoseksueel geloof verkiezingen
рак беременность болезнь депрессия диабет религия церковь мечеть еврей мусульманин политика выборы профсоюз
секс вич
癌症 糖尿病 抑郁症 怀孕 艾滋病 同性恋 宗教 教会 清真寺 基督教 佛教 伊斯兰教 选举 政党 工会 性行为 自杀 残疾
がん 癌 糖尿病 うつ病 妊娠 中絶 同性愛 宗教 教会 選挙 政党 労働組合 自殺 障害
암 당뇨병 우울증 임신 낙태 동성애 종교 교회 선거 정당 노동조합 자살 장애
سرطان السكري اكتئاب حمل حامل مثلي دين كنيسة مسجد انتخابات نقابة انتحار
`
