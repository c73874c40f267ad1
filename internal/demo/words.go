package demo

// valuesOf makes up values of a dimension.
func valuesOf(dimension string) []string {
	switch dimension {
	case "category":
		return []string{"sports", "science", "culture", "business", "travel"}
	case "region":
		return []string{"eu", "us", "apac"}
	}
	return []string{"one", "two", "three"}
}

func subjects() []string {
	return []string{
		"A retired baker", "The night ferry", "My grandmother", "An orchestra of robots", "The last lighthouse keeper",
		"A village choir", "One very patient dog", "The harbour crane", "A class of nine-year-olds", "Our smallest museum",
		"The mountain post bus", "A beekeeper in Porto", "The under-12 goalkeeper", "A street photographer", "The tide",
		"An amateur astronomer", "The oldest tram in town",
	}
}

func verbs() []string {
	return []string{
		"rebuilds", "explains", "races", "paints", "crosses", "restores", "outruns", "serenades", "films", "rescues", "maps",
	}
}

func objects() []string {
	return []string{
		"a 1962 fire engine", "the frozen harbour", "every bridge in Lisbon", "a total eclipse", "the longest staircase in Europe",
		"a cathedral of matchsticks", "the world's slowest train", "a storm over the Baltic", "three hundred paper cranes",
		"the perfect sourdough", "a forgotten observatory", "an abandoned ski jump", "the great pumpkin regatta",
		"a piano on the beach", "one hundred metres of dominoes", "the midnight market", "a very large kite",
		"the river that runs backwards", "a choir of kettles",
	}
}

func tagWords() []string {
	return []string{
		"CupFinal", "Eclipse", "NightFerry", "Sourdough", "東京", "Marathon", "OpenMic", "Åland", "SlowTrain", "🎉", "StreetArt", "Regatta",
		"Überblick", "SkyWatch", "Derby", "MarketDay", "Δelta", "FirstSnow", "Kitesurf", "LongRead", "BeachPiano", "Москва", "TramLife",
		"BookClub", "GoalOfTheDay", "Aurora", "Domino", "CraneWatch", "Festival", "Lighthouse", "VinylFriday",
	}
}
