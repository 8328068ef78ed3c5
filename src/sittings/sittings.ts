/** What other nouns may ask of sittings. */
export { emptySittingOfResult, emptySittingsOfLearners, findBegun, hasOpenSitting } from './store.ts';
