/** What other nouns may ask of groups. */
export { findGroups, findGroupsByKey, knownGroups } from './store.ts';
