/** The functions of evidence that other folders may call. */
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
