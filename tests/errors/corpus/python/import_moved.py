from collections import Mapping
