/** The part of the store that other nouns may use. */
export { findGroups, findGroupsByKey, knownGroups } from './store.ts';
