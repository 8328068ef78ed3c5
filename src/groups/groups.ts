/** What other nouns may ask of groups. */
export { findGroupsByKey, knownGroups } from './store.ts';
