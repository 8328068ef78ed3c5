/** What other nouns may ask of results. */
export {
  findLive,
  findLiveWithin,
  findLearnerAssessments,
  findStored,
  findWithdrawn,
  replaceLearnerJson,
} from './store.ts';
