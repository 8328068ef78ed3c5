/** What other nouns may ask of groups. */
export { findGroup, knownGroups } from './store.ts';
