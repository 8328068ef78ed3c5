import type { EvidenceInput, EvidenceSitting } from '../../src/evidence/document.ts';

/** A result that was made elsewhere: nothing but what the API shows of it. */
export function importedResult(changes: Partial<EvidenceInput> = {}): EvidenceInput {
  return {
    version: 1, source: 'imported', organisation_name: 'Northgate Skills College',
    learner: { full_name: 'Amelia Hart', ref: 'NG-2026-00417' },
    assessment_id: '0b6cf6b4-3f0e-4b0f-9a54-8d3a4f1f7c21', edition: 1,
    subject: 'digital', framework: 'National standards for essential digital skills (2019)',
    assessed_at: '2026-03-29T00:30:00.000Z',
    rqf_level: 'Entry Level', rqf_level_code: 1, below_level_1: true,
    working_level: 'Entry Level', recommended_next_level: 'Level 1', is_borderline: false, needs_review: false,
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
  started_at: '2026-10-05T08:58:12.000Z', finished_at: '2026-10-05T09:41:40.250Z', minutes: 41,
  supervision: 'In person, supervised by the provider throughout',
  standard: { name: 'Functional Skills subject content: English', version: '2018', date: '2018-02-28' },
  irt_level: 'Level 1', rule_level: 'Entry Level 3', reconciled_level: 'Level 1',
  deciding_rule: { level: 'Level 1', theta: 0.042, met: true, inside_interval: true },
  threshold_share: 0.65, theta: 0.318, se: 0.281, ci: [-0.233, 0.869],
  cuts: [
    { level: 'Entry Level 1', theta: -2.114 }, { level: 'Entry Level 2', theta: -1.387 }, { level: 'Entry Level 3', theta: -0.702 },
    { level: 'Level 1', theta: 0.042 }, { level: 'Level 2', theta: 0.957 }, { level: 'Level 3', theta: 1.884 },
  ],
  levels: [
    { level: 'Entry Level 1', right: 5, given: 5, needed: null }, { level: 'Entry Level 2', right: 9, given: 11, needed: 7.214 },
    { level: 'Entry Level 3', right: 12, given: 20, needed: 11.873 }, { level: 'Level 1', right: 13, given: 25, needed: 15.06 },
    { level: 'Level 2', right: 7, given: 19, needed: 12.491 }, { level: 'Level 3', right: 1, given: 8, needed: 5.2 },
  ],
  extreme: null,
  adjustments: ['25% extra time', 'Enlarged text'],
  not_assessed: [
    'Speaking, listening and communicating', 'Extended writing: composition is assessed through indirect questions only',
  ],
  items: Array.from({ length: 34 }, (_, i) => ({
    id: `EN-${['RD', 'SP', 'PU', 'GR', 'WC'][i % 5]}-${String(17 + ((i * 37) % 160)).padStart(3, '0')}`, right: (i * 7) % 12 < 7,
  })),
  versions: [
    { name: 'Question bank', version: 'english 1.4.0 (provisional calibration)' }, { name: 'IRT engine', version: '1.2.0, EAP on 201 nodes' },
    { name: 'Rule engine', version: '1.1.0' }, { name: 'Reconciliation', version: '1.0.0' },
  ],
  declaration: { text: 'I am the person named in the invitation, and the answers are my own work.', at: '2026-10-05T08:58:05.000Z' },
};

/** A result of a sitting here, with everything that is then known. */
export function sittingResult(changes: Partial<EvidenceInput> = {}): EvidenceInput {
  return {
    ...importedResult(),
    source: 'sitting', learner: { full_name: 'Zoë Nguyễn-Ångström', ref: 'NG-2026-00981' },
    assessment_id: '5f2a9e0c-77d1-4c39-b6c8-1b0e4fd2a963', edition: 2,
    subject: 'english', framework: 'Functional Skills English', assessed_at: '2026-10-05T09:41:40.250Z',
    rqf_level: 'Level 1', rqf_level_code: 2, below_level_1: false, working_level: 'Level 1', recommended_next_level: 'Level 2',
    is_borderline: true, needs_review: true,
    domains: [
      { name: 'Reading', score_pct: 74, status: 'secure', answered: 9 }, { name: 'Spelling', score_pct: 58, status: 'developing', answered: 7 },
      { name: 'Punctuation', score_pct: 38, status: 'needs_support', answered: 7 }, { name: 'Grammar', score_pct: 66, status: 'secure', answered: 9 },
      { name: 'Writing composition', score_pct: null, status: null, answered: 2 },
    ],
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
  { script: 'Armenian', name: 'Արամ Խաչատրյան' },
  { script: 'Georgian', name: 'ნინო ბერიძე' },
  { script: 'Syriac', name: 'ܐܫܘܪ ܝܘܚܢܢ', rightToLeft: true },
  { script: 'Chinese, simplified', name: '王小明' },
  { script: 'Chinese, traditional', name: '陳𠮷龍' },
  { script: 'Japanese', name: '山田ひろみ' },
  { script: 'Korean', name: '김민준' },
];
