/** What other nouns may ask of evidence. */
export type { Edition } from './store.ts';
export {
  redactEditions,
  readReport,
  redactEdition,
  renderEdition,
  renderReplacement,
  storeEdition,
  verifyUrl,
} from './store.ts';
