/** Every picture in the guides: what it shows is in `make.ts`, what it says to who can't see it stands in the guide. */

export type Picture = {
  /** The file is `docs/pictures/NAME.webp`. */
  name: string;
  /** Who looks; `nobody` hasn't signed in. */
  as: 'owner' | 'developer' | 'nobody';
  /** Below the organisation's pages, or a whole address; `{…}` are ids of the scene. */
  path: string;
  /** Pressed before the picture is taken, one after the other: fields to fill, then a button. */
  fill?: Record<string, string>;
  press?: string;
  /** Details that are opened. */
  open?: string;
  /** Also taken in the dark and at the width of a phone; the site shows the one that suits the reader. */
  everywhere?: true;
  /** Pixels; what is below is cut off. */
  height: number;
};

export const pictures: readonly Picture[] = [
  { name: 'invitation', as: 'nobody', path: '/console/invitation/{invitation}', height: 620 },
  { name: 'start', everywhere: true, as: 'owner', path: '', height: 680 },
  {
    name: 'invite',
    everywhere: true,
    as: 'owner',
    path: '/invite',
    fill: {
      'Rows from a spreadsheet':
        'Reference\tName\tE-mail\tSubjects\tExtra time\n' +
        'L-2041\tAnwen Rees\tanwen at home\tmaths\t25\n' +
        'Bilal Ahmed\tBilal Ahmed\t\tmaths, english\t\n' +
        'L-2043\tCarys Hughes\tcarys@home.example\thistory\t\n' +
        'L-2044\tDavid Owusu\tdavid@home.example\tall\t',
    },
    press: 'Check rows',
    height: 860,
  },
  { name: 'learner', everywhere: true, as: 'owner', path: '/learners/{learner}', height: 980 },
  { name: 'funding', everywhere: true, as: 'owner', path: '/results/lists/english-maths-below-level-2', height: 860 },
  { name: 'review', everywhere: true, as: 'owner', path: '/review', height: 640 },
  { name: 'erase', as: 'owner', path: '/learners/{learner}/erase', height: 860 },
  { name: 'people', everywhere: true, as: 'owner', path: '/people', height: 620 },
  { name: 'test-result', as: 'owner', path: '/console/{sandbox}/test-result', height: 520 },
  { name: 'key-create', everywhere: true, as: 'owner', path: '/keys/create', height: 860 },
  { name: 'key', as: 'developer', path: '/keys/{bounded}', height: 1080 },
  { name: 'log', everywhere: true, as: 'developer', path: '/log', height: 800 },
  { name: 'call', as: 'developer', path: '/log/{call}', height: 880 },
  { name: 'errors', as: 'developer', path: '/log/errors', height: 760 },
  { name: 'trace', everywhere: true, as: 'developer', path: '/trace?assessment_id={result}', height: 860 },
  { name: 'webhooks', everywhere: true, as: 'developer', path: '/webhooks', height: 640 },
  { name: 'delivery', as: 'developer', path: '/deliveries/{delivery}', open: 'Request', height: 820 },
  {
    name: 'resend',
    as: 'developer',
    path: '/resends/create',
    fill: { 'Failed on this day or later': '2026-11-16' },
    press: 'Count dead letters',
    height: 420,
  },
];
