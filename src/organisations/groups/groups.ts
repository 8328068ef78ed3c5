/** The functions of the store that code outside this folder may use. */
export { findGroups, findGroupsByKey, knownGroups } from './store.ts';
