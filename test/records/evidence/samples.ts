import type { EvidenceInput, EvidenceSitting } from '../../../src/records/evidence/document.ts';

/** A result that was made elsewhere: nothing but what the API shows of it. */
export function importedResult(changes: Partial<EvidenceInput> = {}): EvidenceInput {
  return {
    version: 1,
    source: 'imported',
    organisation_name: 'Northgate Skills College',
    learner: { full_name: 'Amelia Hart', ref: 'NG-2026-00417' },
    assessment_id: '0b6cf6b4-3f0e-4b0f-9a54-8d3a4f1f7c21',
    edition: 1,
    subject: 'digital',
    framework: 'National standards for essential digital skills (2019)',
    assessed_at: '2026-03-29T00:30:00.000Z',
    rqf_level: 'Entry Level',
    rqf_level_code: 1,
    below_level_1: true,
    working_level: 'Entry Level',
    recommended_next_level: 'Level 1',
    is_borderline: false,
    needs_review: false,
    domains: [
      { name: 'Using devices and handling information', score_pct: 71, status: 'secure' },
      { name: 'Creating and editing', score_pct: 48, status: 'developing' },
      { name: 'Communicating', score_pct: 65, status: 'secure' },
      { name: 'Transacting', score_pct: 22, status: 'needs_support' },
      { name: 'Being safe and responsible online', score_pct: null, status: null },
    ],
    verify_url: 'https://results.example.org/verify',
    ...changes,
  };
}

export const sitting: EvidenceSitting = {
  started_at: '2026-10-05T08:58:12.000Z',
  finished_at: '2026-10-05T09:41:40.250Z',
  minutes: 41,
  supervision: 'In person, supervised by the provider throughout',
  standard: { name: 'Functional Skills subject content: English', version: '2018', date: '2018-02-28' },
  irt_level: 'Level 1',
  rule_level: 'Entry Level 3',
  reconciled_level: 'Level 1',
  deciding_rule: { level: 'Level 1', theta: 0.042, met: true, inside_interval: true },
  threshold_share: 0.65,
  theta: 0.318,
  se: 0.281,
  ci: [-0.233, 0.869],
  cuts: [
    { level: 'Entry Level 1', theta: -2.114 },
    { level: 'Entry Level 2', theta: -1.387 },
    { level: 'Entry Level 3', theta: -0.702 },
    { level: 'Level 1', theta: 0.042 },
    { level: 'Level 2', theta: 0.957 },
    { level: 'Level 3', theta: 1.884 },
  ],
  levels: [
    { level: 'Entry Level 1', right: 5, given: 5, needed: null },
    { level: 'Entry Level 2', right: 9, given: 11, needed: 7.214 },
    { level: 'Entry Level 3', right: 12, given: 20, needed: 11.873 },
    { level: 'Level 1', right: 13, given: 25, needed: 15.06 },
    { level: 'Level 2', right: 7, given: 19, needed: 12.491 },
    { level: 'Level 3', right: 1, given: 8, needed: 5.2 },
  ],
  extreme: null,
  adjustments: ['25% extra time', 'Enlarged text'],
  not_assessed: [
    'Speaking, listening and communicating',
    'Extended writing: composition is assessed through indirect questions only',
  ],
  items: Array.from({ length: 34 }, (_, i) => ({
    id: `EN-${['RD', 'SP', 'PU', 'GR', 'WC'][i % 5]}-${String(17 + ((i * 37) % 160)).padStart(3, '0')}`,
    right: (i * 7) % 12 < 7,
  })),
  versions: [
    { name: 'Question bank', version: 'english 1.4.0 (provisional calibration)' },
    { name: 'IRT engine', version: '1.2.0, EAP on 201 nodes' },
    { name: 'Rule engine', version: '1.1.0' },
    { name: 'Reconciliation', version: '1.0.0' },
  ],
  provisional: true,
  declaration: {
    text: 'I am the person named in the invitation, and the answers are my own work.',
    at: '2026-10-05T08:58:05.000Z',
  },
};

/** A result of a sitting here, with everything that is then known. */
export function sittingResult(changes: Partial<EvidenceInput> = {}): EvidenceInput {
  return {
    ...importedResult(),
    source: 'sitting',
    learner: { full_name: 'Zoë Nguyễn-Ångström', ref: 'NG-2026-00981' },
    assessment_id: '5f2a9e0c-77d1-4c39-b6c8-1b0e4fd2a963',
    edition: 2,
    subject: 'english',
    framework: 'Functional Skills English',
    assessed_at: '2026-10-05T09:41:40.250Z',
    rqf_level: 'Level 1',
    rqf_level_code: 2,
    below_level_1: false,
    working_level: 'Level 1',
    recommended_next_level: 'Level 2',
    is_borderline: true,
    needs_review: true,
    domains: [
      { name: 'Reading', score_pct: 74, status: 'secure', answered: 9 },
      { name: 'Spelling', score_pct: 58, status: 'developing', answered: 7 },
      { name: 'Punctuation', score_pct: 38, status: 'needs_support', answered: 7 },
      { name: 'Grammar', score_pct: 66, status: 'secure', answered: 9 },
      { name: 'Writing composition', score_pct: null, status: null, answered: 2 },
    ],
    level_probabilities: {
      'Working towards Entry Level': 0,
      'Entry Level 1': 0,
      'Entry Level 2': 0,
      'Entry Level 3': 0.163,
      'Level 1': 0.825,
      'Level 2': 0.012,
      'Level 3': 0,
    },
    sitting,
    ...changes,
  };
}

/** Learners' names, at least one for every script that must be drawn; `alone` are the words a search must find. */
export const names: readonly { script: string; name: string; rightToLeft?: boolean }[] = [
  { script: 'Latin', name: 'Siân Ó Dálaigh-Żółkiewski' },
  { script: 'Latin, many marks', name: 'Nguyễn Thị Hằng Ẩn Ṛṣi Ğökçe Ðorðe Þór' },
  { script: 'Latin, combining marks', name: 'Ame\u0301lie Ọ\u0300ṣun Q\u0303\u0308' },
  { script: 'Greek', name: 'Ἀθηνᾶ Παπαδοπούλου' },
  { script: 'Cyrillic', name: 'Ђорђе Щербаков-Ґалаґан Ӯтемұратов' },
  { script: 'Arabic', name: 'محمد عبد الله الحسيني', rightToLeft: true },
  { script: 'Arabic, with vowel marks', name: 'مُحَمَّد عَلِيّ', rightToLeft: true },
  { script: 'Persian, with a joiner', name: 'علی\u200cرضا پورحسینی', rightToLeft: true },
  { script: 'Urdu', name: 'ٹیپو سلطان بھٹی', rightToLeft: true },
  { script: 'Hebrew', name: 'יעל בן-דוד', rightToLeft: true },
  { script: 'Hebrew, pointed', name: 'שָׁלוֹם כֹּהֵן', rightToLeft: true },
  { script: 'Devanagari', name: 'प्रियंका कृष्णमूर्ति शर्मा' },
  { script: 'Bengali', name: 'শ্রীমতী রবীন্দ্রনাথ চক্রবর্তী' },
  { script: 'Gurmukhi', name: 'ਹਰਪ੍ਰੀਤ ਸਿੰਘ' },
  { script: 'Gujarati', name: 'નરેન્દ્ર ક્ષત્રિય' },
  { script: 'Tamil', name: 'ஸ்ரீனிவாசன் கொழும்பு' },
  { script: 'Telugu', name: 'శ్రీనివాస్ కృష్ణ' },
  { script: 'Kannada', name: 'ಕೃಷ್ಣಮೂರ್ತಿ' },
  { script: 'Malayalam', name: 'ശ്രീകുമാർ ക്രിസ്റ്റഫർ' },
  { script: 'Odia', name: 'ଶ୍ରୀକୃଷ୍ଣ' },
  { script: 'Sinhala', name: 'ශ්\u200dරී ප්\u200dරේමදාස' },
  { script: 'Ethiopic', name: 'ሃይሌ ገብረሥላሴ' },
  { script: 'Thai', name: 'สมชาย ทิพย์รัตน์' },
  { script: 'Lao', name: 'ສົມຊາຍ ໄຊຍະວົງ' },
  { script: 'Khmer', name: 'សុខ ចន្ទ្រា' },
  { script: 'Burmese', name: 'အောင်ဆန်းစုကြည် မြင့်မြတ်' },
  { script: 'Tibetan', name: 'བསྟན་འཛིན་རྒྱ་མཚོ' },
  { script: 'Mongolian', name: 'ᠪᠠᠲᠤ ᠡᠷᠳᠡᠨᠢ' },
  { script: 'Armenian', name: 'Արամ Խաչատրյան' },
  { script: 'Georgian', name: 'ნინო ბერიძე' },
  { script: 'Syriac', name: 'ܐܫܘܪ ܝܘܚܢܢ', rightToLeft: true },
  { script: 'Chinese, simplified', name: '王小明' },
  { script: 'Chinese, traditional', name: '陳𠮷龍' },
  { script: 'Japanese', name: '山田ひろみ' },
  { script: 'Korean', name: '김민준' },
];

/** Below the first rung, nothing right, nothing adjusted, nothing declared. */
export function belowEntryResult(): EvidenceInput {
  const cuts = [
    { level: 'Entry Level', theta: -1.02 },
    { level: 'Level 1', theta: -0.21 },
    { level: 'Level 2', theta: 0.14 },
    { level: 'Level 3', theta: 0.33 },
  ];
  const level = 'Working towards Entry Level';
  return sittingResult({
    subject: 'digital',
    framework: 'National standards for essential digital skills (2019); Levels 2 and 3 are an extension',
    rqf_level: null,
    rqf_level_code: null,
    below_level_1: true,
    working_level: level,
    recommended_next_level: 'Entry Level',
    is_borderline: false,
    needs_review: false,
    edition: 1,
    level_probabilities: {
      'Working towards Entry Level': 1,
      'Entry Level': 0,
      'Level 1': 0,
      'Level 2': 0,
      'Level 3': 0,
    },
    domains: importedResult().domains,
    sitting: {
      ...sitting,
      extreme: 'all_wrong',
      theta: -3.104,
      ci: [-4.002, -2.206],
      se: 0.458,
      cuts,
      deciding_rule: { level: 'Level 1', theta: -0.21, met: false, inside_interval: false },
      irt_level: level,
      rule_level: level,
      reconciled_level: level,
      levels: cuts.map((cut, i) => ({
        level: cut.level,
        right: 0,
        given: 20 - 6 * i,
        needed: 20 - 6 * i < 8 ? null : 13.2 - 3.9 * i,
      })),
      items: sitting.items.slice(0, 20).map((item) => ({ ...item, right: false })),
      not_assessed: [],
      adjustments: [],
      declaration: null,
    },
  });
}

/** The top of the ladder, everything right. */
export function topResult(): EvidenceInput {
  return sittingResult({
    subject: 'maths',
    framework: 'Functional Skills mathematics; Level 3 by the RQF descriptor',
    rqf_level: 'Level 3',
    rqf_level_code: 5,
    working_level: 'Level 3',
    recommended_next_level: null,
    is_borderline: false,
    needs_review: false,
    level_probabilities: null,
    sitting: {
      ...sitting,
      extreme: 'all_right',
      theta: 3.402,
      ci: [2.598, 4.206],
      irt_level: 'Level 3',
      rule_level: 'Level 3',
      reconciled_level: 'Level 3',
      deciding_rule: { level: 'Level 3', theta: 1.884, met: true, inside_interval: false },
      items: sitting.items.map((item) => ({ ...item, right: true })),
    },
  });
}

/** A person at the provider has set another level than the engines found. */
export function placedResult(changes: Partial<EvidenceInput> = {}): EvidenceInput {
  return sittingResult({
    version: 2,
    edition: 1,
    replaces: '0f2a9e0c-77d1-4c39-b6c8-1b0e4fd2a963',
    reviewed_at: '2026-10-06T10:00:00.000Z',
    rqf_level: 'Level 2',
    rqf_level_code: 3,
    working_level: 'Level 2',
    recommended_next_level: 'Level 3',
    is_borderline: false,
    needs_review: false,
    sitting: { ...sitting, domains_level: 'Level 2' },
    ...changes,
  });
}

/** An imported result of which next to nothing is known. */
export function bareResult(): EvidenceInput {
  return importedResult({
    rqf_level: null,
    rqf_level_code: null,
    below_level_1: null,
    working_level: null,
    recommended_next_level: null,
    is_borderline: null,
    needs_review: null,
    domains: [],
    framework: null,
    learner: { full_name: 'Amelia Hart', ref: null },
  });
}

/** The provider's number and the supervisor's name are known. */
export function supervisedResult(): EvidenceInput {
  return sittingResult({ ukprn: '10004321', sitting: { ...sitting, supervisor: 'Zuzana Ďurčeková' } });
}

/** How the answers came about, with everything that can be said of it. */
export function signedResult(): EvidenceInput {
  return sittingResult({
    sitting: {
      ...sitting,
      ended: 'time_limit',
      not_reached: 1,
      pauses: { count: 2, seconds: 1684 },
      signs: { few_answers: { answered: 18, min: 24 }, fast: { answers: 9, of: 18 } },
      items: sitting.items.slice(0, 20).map((item, i) => ({
        ...item,
        ...(i % 9 === 4 ? { right: false, skipped: true as const } : {}),
        seconds: i % 2 === 0 ? 2 : 31 + 17 * i,
      })),
    },
  });
}

/** What each question asked is known, with skills of every length. */
export function askedResult(): EvidenceInput {
  const asked = [
    { area: 'Reading', skill: 'Find a detail in a short text', format: 'Choose one' },
    { area: 'Writing composition', skill: 'Plan', format: 'Select in a picture or text' },
    { area: 'Spelling', skill: 'Know how common words with silent letters are written in a letter', format: 'Match' },
  ];
  const items = signedResult().sitting!.items.map((item, i) => ({ ...item, asked: asked[i % asked.length]! }));
  return sittingResult({ sitting: { ...sitting, items: [...items, ...items] } });
}

/** Names that try to break the page, the file, or the reader's trust; `shown` is what must stand on the page. */
export const hostileNames: readonly { what: string; name: string; shown: string }[] = [
  {
    what: 'control characters',
    name: 'Ann\u0000\u0007\u001b[31m \u0085Lee\r\nSmith\u007f',
    shown: 'Ann [31m Lee Smith',
  },
  {
    what: 'direction overrides',
    name: '\u202egnihton\u202c \u2067Bob\u2069 \u200fCarter\u061c',
    shown: 'gnihton Bob Carter',
  },
  {
    what: 'markup',
    name: '<b>Bob</b> & "Sue" \\(x) ]]> %PDF-1.4 endobj',
    shown: '<b>Bob</b> & "Sue" \\(x) ]]> %PDF-1.4 endobj',
  },
  { what: 'wide characters', name: 'W'.repeat(200), shown: 'W'.repeat(200) },
  { what: 'emoji', name: 'Kim \u{1f600}\ufe0f Poe', shown: 'Kim \u{1f600} Poe' },
  { what: 'lone surrogates and noncharacters', name: 'A\ud800b\udc00c\ufffe', shown: 'A\ufffdb\ufffdc' },
  { what: 'invisible tags', name: 'Jo\u{e0041}\u{e007f} Ray\u200b', shown: 'Jo Ray' },
  { what: 'marks without a place beside others', name: 'q\u0301\u0335\u0338', shown: 'q\u0301\u0335\u0338' },
  { what: 'stacked marks', name: `Z${'\u0301\u0323'.repeat(30)}oe`, shown: `Z${'\u0301\u0323'.repeat(30)}oe` },
  { what: 'joiners and fillers alone', name: '\u200d\u200c \u3164\u2800', shown: 'No name recorded' },
  { what: 'nothing visible', name: '\u200b\u202e \u0000', shown: 'No name recorded' },
];

/** Every result of the golden files and of the comparison between machines. */
export const goldenInputs: readonly { name: string; input: EvidenceInput }[] = [
  { name: 'imported', input: importedResult() },
  { name: 'sitting', input: sittingResult() },
  { name: 'below-entry', input: belowEntryResult() },
  { name: 'top', input: topResult() },
  { name: 'bare', input: bareResult() },
  { name: 'provider and supervisor', input: supervisedResult() },
  { name: 'signs', input: signedResult() },
  { name: 'asked', input: askedResult() },
  { name: 'placed by a person', input: placedResult() },
  {
    name: 'another assessment',
    input: sittingResult({ sitting: { ...sitting, purpose: 'progress', retake_reason: 'The fire alarm rang' } }),
  },
  ...names.map(({ script, name }) => ({
    name: `name: ${script}`,
    input: importedResult({ learner: { full_name: name, ref: null } }),
  })),
  ...hostileNames.map(({ what, name }) => ({
    name: `hostile: ${what}`,
    input: importedResult({ learner: { full_name: name, ref: null } }),
  })),
];
