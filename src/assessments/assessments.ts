/** What other nouns may ask of results. */
export {
  findLive,
  findLiveWithin,
  findLearnerAssessments,
  findStored,
  findWithdrawn,
  forgetReasons,
  forgetReasonsBefore,
  passResults,
  replaceLearnerJson,
} from './store.ts';
