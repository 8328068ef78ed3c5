/**
 * Characters that look like a letter from A to Z, as ranges of code points. Most come from Unicode's confusables (UTS
 * 39, Unicode 15, from ICU 72).
 * We added small capitals, letters with a stroke or hook, negative letters, regional indicators, and letters of Coptic,
 * Old Italic, Gothic and Runic. Compatibility decomposition covers further look-alikes.
 */
const ranges: Record<string, string> = {
  A: '23a 251 386 391 3ac 3b1 410 430 4d0-4d3 13aa 15c5 1d00 1d8f 1e9a 1f00-1f0f 1f70-1f71 1f80-1f8f 1fb0-1fb4 1fb6-1fbc 2c65 2c80 a4ee 102a0 10300 10330 16f40 1d6a8 1d6c2 1d6e2 1d6fc 1d71c 1d736 1d756 1d770 1d790 1d7aa 1f150 1f170 1f1e6',
  B: '180-184 243 253 299 392 411-412 42c 462-463 48c-48d 13cf 13f4 1472-1473 15af 15f7 16d2 1d6c 1d80 2c82 a4d0 a796-a797 a7b4 10282 102a1 10301 10331 1d6a9 1d6e3 1d71d 1d757 1d791 1f151 1f171 1f1e7',
  C: '187-188 23b-23c 255 3f2 3f9 421 441 4aa-4ab 13df 1455 1d04 2ca4-2ca5 a4da a792-a794 a7c4 abaf 102a2 10302 10415 1043d 1051c 1df1d 1f152 1f172 1f1e8',
  D: 'd0 110-111 189-18c 1c5 1f2 221 256-257 501 13a0 13e7 146f 15de 15ea 1d05 1d6d 1d81 1d91 a4d2-a4d3 a7c7-a7c8 10303 1f153 1f173 1f1e9',
  E: '246-247 25b 388 395 400-401 415 435 450-451 4bd 4bf 4d6-4d7 13ac 1d07 1d92 1f18-1f1d 1fc8-1fc9 2c78 2c88 2d39 a4f0 ab32 ab34 10286 118a6 118ae 1d6ac 1d6e6 1d720 1d75a 1d794 1f154 1f174 1f1ea',
  F: '191-192 3dc 584 15b4 1d6e 1d82 1e9b 1e9d a4dd a730 a798-a799 ab35 10287 102a5 10525 118a2 118c2 1d7ca 1f155 1f175 1f1eb',
  G: '18d 193 1e4-1e5 260-262 29b 50c 581 13c0 13f3 1d83 1da2 a4d6 a7a0-a7a1 1f156 1f176 1f1ec',
  H: '126-127 266 29c 389 397 41d 45b 4a2 4bb 4c7 4c9 570 13bb 13c2 13f2 157c 1d78 1f28-1f2f 1f98-1f9f 1fca-1fcc 210f 2c67-2c68 2c8e a4e7 a695 a795 a7aa 102cf 1d6ae 1d6e8 1d722 1d75c 1d796 1f157 1f177 1f1ed',
  I: '131 196-197 1c0 268-26a 37a 38a 390 399 3aa 3af 3b9 3ca 406-407 456-457 4c0 4cf 5d5 5df 622-623 625 627 673 7ca 13a5 16c1 1d7b-1d7c 1d96 1f30-1f3f 1f76-1f77 1fbe 1fd0-1fd3 1fd6-1fdb 2097 2113 2c92 2d4f a4f2 a647 ab75 fb35 fb4b fd3c-fd3d fe87-fe88 fe8d-fe8e ff4c 1028a 10309 118c3 16f28 1d425 1d459 1d48d 1d4c1 1d4f5 1d529 1d55d 1d591 1d5c5 1d5f9 1d62d 1d661 1d695 1d6a4 1d6b0 1d6ca 1d6ea 1d704 1d724 1d73e 1d75e 1d778 1d798 1d7b2 1df1a 1ee00 1ee80 1f158 1f178 1f1ee',
  J: '237 248-249 29d 37f 3f3 408 458 13ab 148d 1d0a a4d9 a7b2 1f159 1f179 1f1ef',
  K: '198-199 39a 40c 41a 49a 49e 13e6 16d5 1d0b 1d84 2c69-2c6a 2c94 a4d7 a740-a745 a7a2-a7a3 10518 1d6b1 1d6eb 1d725 1d75f 1d799 1f15a 1f17a 1f1f0',
  L: '13f-142 19a 1c8 234 23d 26b-26d 29f 13de 14aa 1d0c 1d85 2c60-2c62 2cd0 a4e1 a748-a749 a78e a7ad ab37-ab39 1041b 10526 118a3 118b2 16f16 1df04 1df11 1df13 1f15b 1f17b 1f1f1',
  M: '271 39c 3fa 41c 4cd 13b7 15f0 16d6 1d0d 1d6f 1d86 2c6e 2c98 a4df ab3a 102b0 10311 11700 1d6b3 1d6ed 1d727 1d761 1d79b 1f15c 1f17c 1f1f2',
  N: '19d-19e 1cb 220 235 272-274 39d 3ae 3b7 578 57c 1d70 1d87 1f20-1f27 1f74-1f75 1f90-1f97 1fc2-1fc4 1fc6-1fc7 2c9a a4e0 a790-a791 a7a4-a7a5 ab3b 10513 1d6b4 1d6c8 1d6ee 1d702 1d728 1d73c 1d762 1d776 1d79c 1d7b0 1f15d 1f17d 1f1f3',
  O: 'd8 f8 19f 1fe-1ff 254 275 38c 398 39f 3b8 3bf 3c3 3cc 3d1 3f4 41e 43e 472-473 4e6-4eb 555 585 5e1 647 6be 6c0-6c2 6d5 6ff b20 d20 1010 101d 10ff 12d0 13be 13eb 1d0f 1d11 1f40-1f45 1f48-1f4d 1f78-1f79 1ff8-1ff9 2c7a 2c9e-2c9f 2d31 2d41 2d54 a4f3 a74a-a74d ab3d-ab3e ab74 ab8e abbb fb41 fba6-fbad fcd9 fee9-feec 10292 102ab 10404 1042c 104c2 104ea 10516 118b5 118c8 118d7 1d6af 1d6b6 1d6b9 1d6c9 1d6d0 1d6d4 1d6dd 1d6e9 1d6f0 1d6f3 1d703 1d70a 1d70e 1d717 1d723 1d72a 1d72d 1d73d 1d744 1d748 1d751 1d75d 1d764 1d767 1d777 1d77e 1d782 1d78b 1d797 1d79e 1d7a1 1d7b1 1d7b8 1d7bc 1d7c5 1df1b 1ee24 1ee64 1ee84 1f15e 1f17e 1f1f4',
  P: '1a4-1a5 3a1 3c1 3f1 420 440 13e2 146d 1d18 1d71 1d7d 1d88 1fe4-1fe5 1fec 2c63 2ca2-2ca3 a4d1 a750-a755 10295 1d6b8 1d6d2 1d6e0 1d6f2 1d70c 1d71a 1d72c 1d746 1d754 1d766 1d780 1d78e 1d7a0 1d7ba 1d7c8 1f15f 1f17f 1f18a 1f1f5',
  Q: '24b 2a0 51b 563 566 2d55 a756-a759 a7af 1f160 1f180 1f1f6',
  R: '1a6 24c-24d 27c-27e 280 433 453 493 13a1 13d2 1587 1d26 1d72-1d73 1d89 2c64 2c85 a4e3 a7a6-a7a7 ab46-ab49 ab4b ab81 104b4 16f35 1df16 1f161 1f181 1f1f7',
  S: '1bd 23f 282 405 455 54f 13d5 13da 1d74 1d8a 2c7e a4e2 a731 a7a8-a7a9 a7c5 a7c9-a7ca abaa 10296 10420 10448 118c1 16f3a 1df1e 1f162 1f182 1f1f8',
  T: '166-167 1ab-1ae 236 23e 288 3a4 422 4ac 13a2 1d1b 1d75 2c66 2ca6 a4d4 10297 102b1 10315 118bc 16f0a 1d6bb 1d6f5 1d72f 1d769 1d7a3 1df09 1f163 1f183 1f1f9',
  U: '244 3b0 3c5 3cb 3cd 54d 57d 1200 13cc 144c 1d1c 1d7e 1d99 1f50-1f57 1f7a-1f7b 1fe0-1fe3 1fe6-1fe7 a4f4 a79f a7b8-a7b9 ab4e ab52 ab9c 104ce 104f6 118b8 118d8 16f42 1d6d6 1d710 1d74a 1d784 1d7be 1f164 1f184 1f1fa',
  V: '1b2 28b 3bd 474-477 5d8 13d9 142f 1d20 1d8c 2c71 2c74 2d38 a4e6 a6df a75e-a75f aba9 fb38 1051d 11706 118a0 118c0 16f08 1d6ce 1d708 1d742 1d77c 1d7b6 1f165 1f185 1f1fb',
  W: '26f 461 47d 51c-51d 561 13b3 13d4 1d21 2c72-2c73 a4ea a761 ab83 114c5 1170a 1170e-1170f 1f166 1f186 1f1fc',
  X: '3a7 425 445 4b2 1541 157d 16b7 1d8d 2cac 2d5d a4eb a7b3 ab56-ab59 10290 102b4 10317 10527 1d6be 1d6f8 1d732 1d76c 1d7a6 1f167 1f187 1f1fd',
  Y: '1b3-1b4 24e-24f 263 28f 38e 3a5 3ab 3b3 3d2-3d4 40e 423 443 45e 4ae-4b1 4ee-4f3 10e7 13a9 13bd 1efe-1eff 1f59 1f5b 1f5d 1f5f 1fe8-1feb 213d 2ca8 a4ec ab5a 102b2 118a4 118dc 16f43 1d6bc 1d6c4 1d6f6 1d6fe 1d730 1d738 1d76a 1d772 1d7a4 1d7ac 1f168 1f188 1f1fe',
  Z: '1b5-1b6 224-225 240 290-291 396 13c3 1d22 1d76 1d8e 2c6b-2c6c 2c7f 2c8c a4dc a7c6 ab93 118a9 118c4 1d6ad 1d6e7 1d721 1d75b 1d795 1f169 1f189 1f1ff',
};

const letterOf = new Map<string, string>();
for (const [letter, list] of Object.entries(ranges)) {
  for (const range of list.split(' ')) {
    const [first, last = first] = range.split('-').map((hex) => parseInt(hex, 16));
    for (let code = first!; code <= last!; code++) letterOf.set(String.fromCodePoint(code), letter);
  }
}

const rememberedCharacters = 10_000;
const remembered = new Map<string, string>();

/** The letter from A to Z that the character resembles as a capital or small letter; otherwise the character itself. */
export function latinLookOf(character: string): string {
  const known = remembered.get(character);
  if (known !== undefined) return known;
  const look =
    letterOf.get(character) ??
    letterOf.get(character.toUpperCase()) ??
    letterOf.get(character.toLowerCase()) ??
    character;
  if (remembered.size >= rememberedCharacters) remembered.clear();
  remembered.set(character, look);
  return look;
}
