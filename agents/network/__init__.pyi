from .agent import NetworkAgent as NetworkAgent
from .foreign import Interface as Interface
from .foreign import OwnNetwork as OwnNetwork
<<<<<<< HEAD
from .lesions import accuracy_without as accuracy_without
from .observed import Observed as Observed
from .observed import before_the_probe as before_the_probe
from .observed import observe as observe
=======
from .inputs.data import arrays_of as arrays_of
>>>>>>> 8cc477d3 (Door for modellers: arrays of trials through the room of networks; panels and names of other packages are documented)
from .settings import CompactSettings as CompactSettings
from .settings import WormSettings as WormSettings
from .settings import model_settings as model_settings
from .settings import need_torch as need_torch
from .settings import task_seen_in as task_seen_in
from .training.config import TrainingConfig as TrainingConfig
from .training.config import read_config as read_config
