package hashtag_test

import (
	"fmt"

	"crest/hashtag"
)

func ExampleNormalize() {
	for _, tag := range []string{"#MayweatherVMcGregor", "＃ＭａｙｗｅａｔｈｅｒＶＭｃＧｒｅｇｏｒ", "#Straße", "#résumé", "#️⃣"} {
		fmt.Println(hashtag.Normalize(tag))
	}
	// Output:
	// mayweathervmcgregor
	// mayweathervmcgregor
	// strasse
	// résumé
	// #️⃣
}
