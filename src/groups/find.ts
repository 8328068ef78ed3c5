/** What other nouns may ask of groups. */
export { findGroup, findGroupsByKey, knownGroups } from './store.ts';
