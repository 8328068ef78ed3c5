/** What other nouns may ask of sittings. */
export {
  emptySittingOfResult,
  emptySittingsOfLearners,
  findBegun,
  hasOpenSitting,
  voidSittingsOfLearner,
} from './store.ts';
