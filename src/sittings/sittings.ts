/** What other nouns may ask of sittings. */
export { emptySittingOfResult, emptySittingsOfLearners, hasOpenSitting } from './store.ts';
